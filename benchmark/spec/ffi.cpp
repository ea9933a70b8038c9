// scan.cpp as calls that XLA makes: the same recurrence, buffers instead of pointers.

#include <algorithm>
#include <vector>

#include "scan.cpp"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

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
  for (int64_t p = 0; p < P; ++p) {
    double sum = 0;
    for (int64_t b = 0; b < B; ++b) sum += sums[b * P + p];
    total->typed_data()[p] = sum;
  }
  return ffi::Error::Success();
}

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

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_scan_f32, Scan<ffi::F32>, ScanCall<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_scan_f64, Scan<ffi::F64>, ScanCall<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_correlate_f32, Correlate<ffi::F32>, CorrelateCall<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(rotbench_ffi_correlate_f64, Correlate<ffi::F64>, CorrelateCall<ffi::F64>());
