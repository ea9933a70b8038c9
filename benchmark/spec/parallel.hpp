// What all compiled recurrences share: threads, and numbers that are too small to matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

// Steps of one complex state that are worth starting a thread for, some 0.1 ms.
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
  if (items < 1) return;
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

}  // namespace
