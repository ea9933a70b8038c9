// The diagonal complex recurrence on a CPU, one source for both frameworks: plain C calls, see native.py.
//
// Arrays are planar: N real parts, then N imaginary ones, on the last axis; rows of time follow each other.
// A block of channels stays in registers while time runs; threads share (batch row, block) pairs.

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

// Channels that are carried along together: eight vectors of real and imaginary parts.
template <typename T>
constexpr int kBlock = 128 / sizeof(T);

// Steps of one complex channel that are worth starting a thread for, some 0.1 ms.
constexpr int64_t kStepsOfAThread = 1 << 17;

// Numbers below the normal range are zero while this stands: states that die away would cost a hundred times as much.
struct FlushTiny {
#if defined(__SSE2__)
  unsigned before = _mm_getcsr();
  FlushTiny() { _mm_setcsr(before | 0x8040); }
  ~FlushTiny() { _mm_setcsr(before); }
#endif
};

template <typename Work>
void share(int64_t items, int64_t steps, int threads, const Work& work) {
  const int64_t useful = std::max<int64_t>(1, steps / kStepsOfAThread);
  const int count = static_cast<int>(std::min<int64_t>({threads, items, useful}));
  auto part = [&](int i) {
    FlushTiny flush;
    for (int64_t item = items * i / count; item < items * (i + 1) / count; ++item) work(item);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < count; ++i) others.emplace_back(part, i);
  part(0);
  for (auto& other : others) other.join();
}

// x_t = lam x_{t-1} + z_t of `width` channels through `length` steps. `carry` is the state before, then after them.
// A full block has a width that the compiler knows.
template <typename T, int Width>
void scan_block(const T* lam, const T* z, T* x, T* carry, int64_t length, int64_t N, bool reverse, int width) {
  const int n = Width ? Width : width;
  T a_r[kBlock<T>], a_i[kBlock<T>], h_r[kBlock<T>], h_i[kBlock<T>];
  for (int c = 0; c < n; ++c) a_r[c] = lam[c], a_i[c] = lam[N + c], h_r[c] = carry[c], h_i[c] = carry[N + c];
  const int64_t stride = reverse ? -2 * N : 2 * N;
  if (reverse) z += 2 * N * (length - 1), x += 2 * N * (length - 1);
  for (int64_t t = 0; t < length; ++t, z += stride, x += stride) {
#pragma GCC ivdep
    for (int c = 0; c < n; ++c) {
      const T r = a_r[c] * h_r[c] - a_i[c] * h_i[c] + z[c];
      const T i = a_r[c] * h_i[c] + a_i[c] * h_r[c] + z[N + c];
      h_r[c] = x[c] = r, h_i[c] = x[N + c] = i;
    }
  }
  for (int c = 0; c < n; ++c) carry[c] = h_r[c], carry[N + c] = h_i[c];
}

// The sum over time of G_t conj(x_{t-1}), where x_{-1} is `before`; in reverse of G_t conj(x_{t+1}).
template <typename T, int Width>
void correlate_block(const T* G, const T* x, const T* before, double* sum, int64_t length, int64_t N, bool reverse,
                     int width) {
  const int n = Width ? Width : width;
  const int64_t first = reverse ? length - 1 : 0, back = reverse ? 2 * N : -2 * N;
  for (int64_t from = 0; from < length; from += 256) {  // short sums in T, long ones in double
    T s_r[kBlock<T>] = {}, s_i[kBlock<T>] = {};
    for (int64_t t = from; t < std::min(length, from + 256); ++t) {
      const T *g = G + 2 * N * t, *p = t == first ? before : x + 2 * N * t + back;
#pragma GCC ivdep
      for (int c = 0; c < n; ++c) {
        s_r[c] += g[c] * p[c] + g[N + c] * p[N + c];
        s_i[c] += g[N + c] * p[c] - g[c] * p[N + c];
      }
    }
    for (int c = 0; c < n; ++c) sum[c] += s_r[c], sum[N + c] += s_i[c];
  }
}

template <typename T>
void scan(const T* lam, const T* z, T* x, T* carry, int64_t B, int64_t L, int64_t N, int reverse, int threads) {
  const int64_t blocks = (N + kBlock<T> - 1) / kBlock<T>;
  share(B * blocks, B * L * N, threads, [=](int64_t item) {
    const int64_t b = item / blocks, n = item % blocks * kBlock<T>, at = 2 * N * L * b + n;
    const int width = static_cast<int>(std::min<int64_t>(kBlock<T>, N - n));
    auto run = width == kBlock<T> ? scan_block<T, kBlock<T>> : scan_block<T, 0>;
    run(lam + n, z + at, x + at, carry + 2 * N * b + n, L, N, reverse, width);
  });
}

template <typename T>
void correlate(const T* G, const T* x, const T* before, double* sum, int64_t B, int64_t L, int64_t N, int reverse,
               int threads) {
  const int64_t blocks = (N + kBlock<T> - 1) / kBlock<T>;
  share(B * blocks, B * L * N, threads, [=](int64_t item) {
    const int64_t b = item / blocks, n = item % blocks * kBlock<T>, at = 2 * N * L * b + n;
    const int width = static_cast<int>(std::min<int64_t>(kBlock<T>, N - n));
    auto run = width == kBlock<T> ? correlate_block<T, kBlock<T>> : correlate_block<T, 0>;
    run(G + at, x + at, before + 2 * N * b + n, sum + 2 * N * b + n, L, N, reverse, width);
  });
}

}  // namespace

#define ROTBENCH_CALLS(T, name)                                                                                    \
  extern "C" void rotbench_scan_##name(const T* lam, const T* z, T* x, T* carry, int64_t B, int64_t L, int64_t N,  \
                                       int reverse, int threads) {                                                \
    scan<T>(lam, z, x, carry, B, L, N, reverse, threads);                                                          \
  }                                                                                                                \
  extern "C" void rotbench_correlate_##name(const T* G, const T* x, const T* before, double* sum, int64_t B,       \
                                            int64_t L, int64_t N, int reverse, int threads) {                      \
    correlate<T>(G, x, before, sum, B, L, N, reverse, threads);                                                    \
  }

ROTBENCH_CALLS(float, f32)
ROTBENCH_CALLS(double, f64)
