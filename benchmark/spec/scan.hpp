// The diagonal complex recurrence on a CPU: N states that all channels feed.
//
// Arrays are planar: N real parts, then N imaginary ones, on the last axis; rows of time follow each other.
// A block of states stays in registers while time runs; threads share (batch row, block) pairs.
#pragma once

#include <type_traits>

#include "parallel.hpp"

namespace {

// States that are carried along together: eight vectors of 64 bytes.
template <typename T>
constexpr int kBlock = 256 / sizeof(T);

// x_t = lam x_{t-1} + z_t of `width` states through `length` steps. `carry` is the state before, then after them.
// Width, unless 0, is a width that the compiler knows.
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

// What `make` gives for a width of a quarter, half, three quarters of a block, or a block; else for 0.
template <typename T, typename Make>
auto of_width(int width, const Make& make) {
  constexpr int part = kBlock<T> / 4;
  switch (width % part ? 0 : width / part) {
    case 1: return make(std::integral_constant<int, part>());
    case 2: return make(std::integral_constant<int, 2 * part>());
    case 3: return make(std::integral_constant<int, 3 * part>());
    case 4: return make(std::integral_constant<int, 4 * part>());
  }
  return make(std::integral_constant<int, 0>());
}

template <typename T>
void scan(const T* lam, const T* z, T* x, T* carry, int64_t B, int64_t L, int64_t N, int reverse, int threads) {
  const int64_t blocks = (N + kBlock<T> - 1) / kBlock<T>;
  share(B * blocks, B * L * N, threads, [=](int64_t item) {
    const int64_t b = item / blocks, n = item % blocks * kBlock<T>, at = 2 * N * L * b + n;
    const int width = static_cast<int>(std::min<int64_t>(kBlock<T>, N - n));
    const auto run = of_width<T>(width, [](auto known) { return scan_block<T, known>; });
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
    const auto run = of_width<T>(width, [](auto known) { return correlate_block<T, known>; });
    run(G + at, x + at, before + 2 * N * b + n, sum + 2 * N * b + n, L, N, reverse, width);
  });
}

}  // namespace

