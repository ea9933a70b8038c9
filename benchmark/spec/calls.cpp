// The compiled recurrences as plain C calls, which need nothing of Python's: see native.py.

#include "channels.hpp"
#include "scan.hpp"

#define ROTBENCH_CALLS(T, name)                                                                                    \
  extern "C" void rotbench_scan_##name(const T* lam, const T* z, T* x, T* carry, int64_t B, int64_t L, int64_t N,  \
                                       int reverse, int threads) {                                                \
    scan<T>(lam, z, x, carry, B, L, N, reverse, threads);                                                          \
  }                                                                                                                \
  extern "C" void rotbench_correlate_##name(const T* G, const T* x, const T* before, double* sum, int64_t B,       \
                                            int64_t L, int64_t N, int reverse, int threads) {                      \
    correlate<T>(G, x, before, sum, B, L, N, reverse, threads);                                                    \
  }                                                                                                                \
  extern "C" void rotbench_channels_##name(const T* lam, const T* w, const T* u, T* y, T* edges, int64_t B,        \
                                           int64_t L, int64_t H, int64_t M, int reverse, int threads) {            \
    channels<T>({B, L, H, M, reverse != 0}, lam, w, u, y, edges, threads);                                         \
  }                                                                                                                \
  extern "C" void rotbench_channel_gradients_##name(const T* lam, const T* w, const T* u, const T* gy,             \
                                                    const T* edges, T* du, double* d_lam, double* d_w, int64_t B,  \
                                                    int64_t L, int64_t H, int64_t M, int reverse, int threads) {   \
    channel_gradients<T>({B, L, H, M, reverse != 0}, lam, w, u, gy, edges, du, d_lam, d_w, threads);               \
  }

ROTBENCH_CALLS(float, f32)
ROTBENCH_CALLS(double, f64)
