// The recurrence of a per-channel layer (S4D) on a CPU: M states of each of H channels, fed by that channel alone.
//
// x_t = lam x_{t-1} + u_t and y_t = sum_m Re(w x_t), where w is what leads into a state times what leads out of it.
// States are never in memory but for those at every kSteps-th step, from which the gradient computes the others anew.
// A vector holds channels side by side; a few modes of theirs stay in registers while some steps run.
#pragma once

#include <cstring>
#include <memory>

#include "parallel.hpp"

namespace {

// Steps from one state that is kept to the next.
constexpr int kSteps = 128;

// Channels of a vector, and modes whose states stay in registers together.
template <typename T>
constexpr int kLanes = 64 / sizeof(T);
constexpr int kModes = 2;

template <typename T>
using Row = T[kLanes<T>];

// Complex numbers of a few modes of a vector of channels: [part][mode][channel].
template <typename T>
using Group = Row<T>[2][kModes];

// Sizes of a call, and in which order its steps are taken.
struct Shape {
  int64_t B, L, H, M;
  bool reverse;
  int64_t chunks() const { return (L + kSteps - 1) / kSteps; }
  int64_t groups() const { return (M + kModes - 1) / kModes; }
  int64_t modes() const { return 2 * M * H; }  // numbers in one complex (M, H) array
  int steps(int64_t chunk) const { return static_cast<int>(std::min<int64_t>(kSteps, L - chunk * kSteps)); }
};

// Some channels of some arrays: what lies beyond the last channel or mode is zero inside, and nowhere outside.
template <typename T>
struct Block {
  const Shape& shape;
  int64_t first;  // channel
  int width;

  template <typename S, typename Visit>
  void each(S* array, int64_t group, const Visit& visit) const {
    for (int part = 0; part < 2; ++part)
      for (int m = 0; m < kModes && group * kModes + m < shape.M; ++m)
        for (int c = 0; c < width; ++c)
          visit(array[(part * shape.M + group * kModes + m) * shape.H + first + c], part, m, c);
  }

  void load(const T* array, int64_t group, Group<T>& to) const {
    std::memset(to, 0, sizeof(to));
    each(array, group, [&](const T& value, int part, int m, int c) { to[part][m][c] = value; });
  }

  void store(const Group<T>& from, int64_t group, T* array) const {
    each(array, group, [&](T& value, int part, int m, int c) { value = from[part][m][c]; });
  }

  void add(const Group<T>& from, int64_t group, double* array) const {
    each(array, group, [&](double& value, int part, int m, int c) { value += from[part][m][c]; });
  }

  std::unique_ptr<Group<T>[]> load_all(const T* array) const {
    std::unique_ptr<Group<T>[]> all(new Group<T>[shape.groups()]);
    for (int64_t group = 0; group < shape.groups(); ++group) load(array, group, all[group]);
    return all;
  }

  int64_t row(int64_t chunk, int step) const {
    const int64_t t = chunk * kSteps + step;
    return (shape.reverse ? shape.L - 1 - t : t) * shape.H + first;
  }

  void load_steps(const T* signal, int64_t chunk, Row<T>* to) const {
    std::memset(to, 0, kSteps * sizeof(Row<T>));
    for (int t = 0; t < shape.steps(chunk); ++t) std::copy_n(signal + row(chunk, t), width, to[t]);
  }

  void store_steps(const Row<T>* from, int64_t chunk, T* signal) const {
    for (int t = 0; t < shape.steps(chunk); ++t) std::copy_n(from[t], width, signal + row(chunk, t));
  }
};

// x_t = lam x_{t-1} + u_t, one step.
template <typename T>
inline void advance(const Group<T>& a, const Row<T>& u, Group<T>& x) {
  for (int m = 0; m < kModes; ++m) {
#pragma GCC ivdep
    for (int c = 0; c < kLanes<T>; ++c) {
      const T r = a[0][m][c] * x[0][m][c] - a[1][m][c] * x[1][m][c] + u[c];
      const T i = a[0][m][c] * x[1][m][c] + a[1][m][c] * x[0][m][c];
      x[0][m][c] = r, x[1][m][c] = i;
    }
  }
}

// Copies let the compiler keep in registers what nothing else points at.
template <typename T>
struct Local {
  Group<T> value;
  explicit Local(const Group<T>& from) { std::memcpy(value, from, sizeof(value)); }
  void write(Group<T>& to) const { std::memcpy(to, value, sizeof(value)); }
};

// Adds to y what some modes put out in `steps` steps; their state x goes from before these steps to after them.
template <typename T>
void group_outputs(const Group<T>& lam, const Group<T>& w, const Row<T>* u, int steps, Group<T>& x, Row<T>* y) {
  const Local<T> a(lam), out(w);
  Local<T> h(x);
  for (int t = 0; t < steps; ++t) {
    advance<T>(a.value, u[t], h.value);
    for (int m = 0; m < kModes; ++m) {
#pragma GCC ivdep
      for (int c = 0; c < kLanes<T>; ++c)
        y[t][c] += out.value[0][m][c] * h.value[0][m][c] - out.value[1][m][c] * h.value[1][m][c];
    }
  }
  h.write(x);
}

// The states of some modes before and after each of some steps, and the sum over these of g_t conj(x_t).
template <typename T>
void group_states(const Group<T>& lam, const Row<T>* u, const Row<T>* g, int steps, const Group<T>& before, Group<T>* x,
                  Group<T>& d_w) {
  const Local<T> a(lam);
  const Group<T> zero = {};
  Local<T> h(before), sum(zero);
  h.write(x[0]);
  for (int t = 0; t < steps; ++t) {
    advance<T>(a.value, u[t], h.value);
    h.write(x[t + 1]);
    for (int m = 0; m < kModes; ++m) {
#pragma GCC ivdep
      for (int c = 0; c < kLanes<T>; ++c) {
        sum.value[0][m][c] += g[t][c] * h.value[0][m][c];
        sum.value[1][m][c] -= g[t][c] * h.value[1][m][c];
      }
    }
  }
  sum.write(d_w);
}

// The reverse recurrence G_t = conj(lam) G_{t+1} + conj(w) g_t of some modes: adds Re(G_t) to du, and makes the sum of
// G_t conj(x_{t-1}). `adjoint` goes from after these steps to before them.
template <typename T>
void group_adjoint(const Group<T>& lam, const Group<T>& w, const Row<T>* g, int steps, const Group<T>* x,
                   Group<T>& adjoint, Row<T>* du, Group<T>& d_lam) {
  const Local<T> a(lam), in(w);
  const Group<T> zero = {};
  Local<T> G(adjoint), sum(zero);
  for (int t = steps - 1; t >= 0; --t) {
    for (int m = 0; m < kModes; ++m) {
#pragma GCC ivdep
      for (int c = 0; c < kLanes<T>; ++c) {
        const T r = a.value[0][m][c] * G.value[0][m][c] + a.value[1][m][c] * G.value[1][m][c] +
                    in.value[0][m][c] * g[t][c];
        const T i = a.value[0][m][c] * G.value[1][m][c] - a.value[1][m][c] * G.value[0][m][c] -
                    in.value[1][m][c] * g[t][c];
        G.value[0][m][c] = r, G.value[1][m][c] = i;
        du[t][c] += r;
        sum.value[0][m][c] += r * x[t][0][m][c] + i * x[t][1][m][c];
        sum.value[1][m][c] += i * x[t][0][m][c] - r * x[t][1][m][c];
      }
    }
  }
  G.write(adjoint), sum.write(d_lam);
}

template <typename T>
void block_outputs(const Block<T>& block, const T* lam, const T* w, const T* u, T* y, T* edges) {
  const Shape& shape = block.shape;
  const auto a = block.load_all(lam), out = block.load_all(w);
  std::unique_ptr<Group<T>[]> x(new Group<T>[shape.groups()]());
  alignas(64) Row<T> u_rows[kSteps], y_rows[kSteps];
  for (int64_t chunk = 0; chunk < shape.chunks(); ++chunk) {
    block.load_steps(u, chunk, u_rows);
    std::memset(y_rows, 0, sizeof(y_rows));
    for (int64_t group = 0; group < shape.groups(); ++group) {
      if (edges) block.store(x[group], group, edges + chunk * shape.modes());
      group_outputs<T>(a[group], out[group], u_rows, shape.steps(chunk), x[group], y_rows);
    }
    block.store_steps(y_rows, chunk, y);
  }
}

template <typename T>
void block_gradients(const Block<T>& block, const T* lam, const T* w, const T* u, const T* gy, const T* edges, T* du,
                     double* d_lam, double* d_w) {
  const Shape& shape = block.shape;
  const auto a = block.load_all(lam), out = block.load_all(w);
  std::unique_ptr<Group<T>[]> adjoint(new Group<T>[shape.groups()]()), x(new Group<T>[kSteps + 1]);
  alignas(64) Row<T> u_rows[kSteps], g_rows[kSteps], d_rows[kSteps];
  alignas(64) Group<T> before, sum;
  for (int64_t chunk = shape.chunks() - 1; chunk >= 0; --chunk) {
    const int steps = shape.steps(chunk);
    block.load_steps(u, chunk, u_rows), block.load_steps(gy, chunk, g_rows);
    std::memset(d_rows, 0, sizeof(d_rows));
    for (int64_t group = 0; group < shape.groups(); ++group) {  // sums of a chunk in T, those of all in double
      block.load(edges + chunk * shape.modes(), group, before);
      group_states<T>(a[group], u_rows, g_rows, steps, before, x.get(), sum);
      block.add(sum, group, d_w);
      group_adjoint<T>(a[group], out[group], g_rows, steps, x.get(), adjoint[group], d_rows, sum);
      block.add(sum, group, d_lam);
    }
    block.store_steps(d_rows, chunk, du);
  }
}

template <typename T, typename Work>
void each_block(const Shape& shape, int threads, const Work& work) {
  const int64_t blocks = (shape.H + kLanes<T> - 1) / kLanes<T>;
  share(shape.B * blocks, shape.B * shape.L * shape.H * shape.M, threads, [&](int64_t item) {
    const int64_t first = item % blocks * kLanes<T>;
    work(item / blocks, Block<T>{shape, first, static_cast<int>(std::min<int64_t>(kLanes<T>, shape.H - first))});
  });
}

// Outputs (B, L, H) of inputs alike; lam and w are complex (2, M, H). Unless null, `edges` (B, chunks, 2, M, H) gets
// the states before each chunk.
template <typename T>
void channels(const Shape& shape, const T* lam, const T* w, const T* u, T* y, T* edges, int threads) {
  const int64_t signal = shape.L * shape.H, states = shape.chunks() * shape.modes();
  each_block<T>(shape, threads, [&](int64_t b, const Block<T>& block) {
    block_outputs<T>(block, lam, w, u + b * signal, y + b * signal, edges ? edges + b * states : nullptr);
  });
}

// From the gradient of the outputs that of u, and, added by sequence to (B, 2, M, H), those of lam and w.
template <typename T>
void channel_gradients(const Shape& shape, const T* lam, const T* w, const T* u, const T* gy, const T* edges, T* du,
                       double* d_lam, double* d_w, int threads) {
  const int64_t signal = shape.L * shape.H, states = shape.chunks() * shape.modes(), modes = shape.modes();
  each_block<T>(shape, threads, [&](int64_t b, const Block<T>& block) {
    block_gradients<T>(block, lam, w, u + b * signal, gy + b * signal, edges + b * states, du + b * signal,
                       d_lam + b * modes, d_w + b * modes);
  });
}

}  // namespace
