// The compiled recurrences as calls that XLA makes: as calls.cpp, with buffers instead of pointers.

#include <algorithm>
#include <vector>

#include "channels.hpp"
#include "scan.hpp"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

// Over the batch B, which comes first, of `size` numbers each.
template <typename T>
void Sum(const std::vector<double>& parts, int64_t B, int64_t size, T* total) {
  for (int64_t i = 0; i < size; ++i) {
    double sum = 0;
    for (int64_t b = 0; b < B; ++b) sum += parts[b * size + i];
    total[i] = static_cast<T>(sum);
  }
}

template <ffi::DataType kType>
ffi::Error Scan(ffi::Buffer<kType> lam, ffi::Buffer<kType> z, ffi::Buffer<kType> state, bool reverse, int64_t threads,
                ffi::ResultBuffer<kType> x, ffi::ResultBuffer<kType> carry) {
  const auto shape = z.dimensions();
  std::copy_n(state.typed_data(), state.element_count(), carry->typed_data());
  scan(lam.typed_data(), z.typed_data(), x->typed_data(), carry->typed_data(), shape[0], shape[1], shape[2] / 2, reverse,
       static_cast<int>(threads));
  return ffi::Error::Success();
}

template <ffi::DataType kType>
ffi::Error Correlate(ffi::Buffer<kType> G, ffi::Buffer<kType> x, ffi::Buffer<kType> before, bool reverse,
                     int64_t threads, ffi::ResultBuffer<kType> total) {
  const auto shape = G.dimensions();
  const int64_t B = shape[0], P = shape[2];
  std::vector<double> sums(B * P, 0.0);
  correlate(G.typed_data(), x.typed_data(), before.typed_data(), sums.data(), B, shape[1], P / 2, reverse,
            static_cast<int>(threads));
  Sum(sums, B, P, total->typed_data());
  return ffi::Error::Success();
}

template <ffi::DataType kType>
Shape ShapeOf(const ffi::Buffer<kType>& u, const ffi::Buffer<kType>& lam, bool reverse) {
  const auto signal = u.dimensions();
  return {signal[0], signal[1], signal[2], lam.dimensions()[1], reverse};
}

// Keeps the states before each chunk if there is room for them.
template <ffi::DataType kType>
ffi::Error Channels(ffi::Buffer<kType> lam, ffi::Buffer<kType> w, ffi::Buffer<kType> u, bool reverse, int64_t threads,
                    ffi::ResultBuffer<kType> y, ffi::ResultBuffer<kType> edges) {
  const bool kept = edges->element_count() > 0;
  channels(ShapeOf(u, lam, reverse), lam.typed_data(), w.typed_data(), u.typed_data(), y->typed_data(),
           kept ? edges->typed_data() : nullptr, static_cast<int>(threads));
  return ffi::Error::Success();
}

template <ffi::DataType kType>
ffi::Error ChannelGradients(ffi::Buffer<kType> lam, ffi::Buffer<kType> w, ffi::Buffer<kType> u, ffi::Buffer<kType> gy,
                            ffi::Buffer<kType> edges, bool reverse, int64_t threads, ffi::ResultBuffer<kType> d_lam,
                            ffi::ResultBuffer<kType> d_w, ffi::ResultBuffer<kType> du) {
  const Shape shape = ShapeOf(u, lam, reverse);
  std::vector<double> by_lam(shape.B * shape.modes(), 0.0), by_w(by_lam.size(), 0.0);
  channel_gradients(shape, lam.typed_data(), w.typed_data(), u.typed_data(), gy.typed_data(), edges.typed_data(),
                    du->typed_data(), by_lam.data(), by_w.data(), static_cast<int>(threads));
  Sum(by_lam, shape.B, shape.modes(), d_lam->typed_data());
  Sum(by_w, shape.B, shape.modes(), d_w->typed_data());
  return ffi::Error::Success();
}

// Of Scan and Channels: three arrays in, two out.
template <ffi::DataType kType>
auto ScanCall() {
  return ffi::Ffi::Bind()
      .Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Attr<bool>("reverse")
      .template Attr<int64_t>("threads")
      .template Ret<ffi::Buffer<kType>>()
      .template Ret<ffi::Buffer<kType>>();
}

template <ffi::DataType kType>
auto CorrelateCall() {
  return ffi::Ffi::Bind()
      .Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Attr<bool>("reverse")
      .template Attr<int64_t>("threads")
      .template Ret<ffi::Buffer<kType>>();
}

template <ffi::DataType kType>
auto ChannelGradientsCall() {
  return ffi::Ffi::Bind()
      .Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Arg<ffi::Buffer<kType>>()
      .template Attr<bool>("reverse")
      .template Attr<int64_t>("threads")
      .template Ret<ffi::Buffer<kType>>()
      .template Ret<ffi::Buffer<kType>>()
      .template Ret<ffi::Buffer<kType>>();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_scan_f32, Scan<ffi::F32>, ScanCall<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_scan_f64, Scan<ffi::F64>, ScanCall<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_correlate_f32, Correlate<ffi::F32>, CorrelateCall<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_correlate_f64, Correlate<ffi::F64>, CorrelateCall<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_channels_f32, Channels<ffi::F32>, ScanCall<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_channels_f64, Channels<ffi::F64>, ScanCall<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_channel_gradients_f32, ChannelGradients<ffi::F32>,
                              ChannelGradientsCall<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_channel_gradients_f64, ChannelGradients<ffi::F64>,
                              ChannelGradientsCall<ffi::F64>());
