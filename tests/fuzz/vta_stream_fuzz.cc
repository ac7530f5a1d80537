// VTA streams of arbitrary bytes: decoded, printed, encoded again, timed, and executed on memory
// that they may address arbitrarily. The first byte selects the design; the rest are instructions,
// over DRAM with the same bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/vta/encoding.h"
#include "src/vta/simulator/cycle_model.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"
#include "src/vta/simulator/trace.h"
#include "src/vta/stream_file.h"

namespace {

constexpr std::string_view kSmallDesign =
    R"({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 2, "LOG_WGT_WIDTH": 1,
        "LOG_ACC_WIDTH": 5, "LOG_BATCH": 1, "LOG_BLOCK": 2, "LOG_UOP_BUFF_SIZE": 12,
        "LOG_INP_BUFF_SIZE": 8, "LOG_WGT_BUFF_SIZE": 8, "LOG_ACC_BUFF_SIZE": 10})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;       // NOLINT: a test program of one function
  using namespace tilewright::vta;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)Design::Parse(text, "design.json").ok();
  (void)CycleModel::Parse(text, "cycles.json").ok();
  if (const auto file = ReadStreamFile(text); file.ok()) {
    const std::vector<std::int64_t> addresses(file->stream.buffers.size(), 0);
    (void)file->stream.Bind(file->design, addresses).ok();
  }
  if (size == 0) return 0;
  const auto small = Design::Parse(kSmallDesign, "small.json");
  TW_CHECK(small.ok(), small.status().message());
  const Design design = data[0] % 2 == 0 ? Design::Default("tsim") : *small;
  const Encoding encoding(design);
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const auto instructions = encoding.DecodeStream(bytes);
  if (!instructions.ok()) return 0;
  (void)Listing(*instructions);
  const auto encoded = encoding.EncodeStream(*instructions);
  TW_CHECK(encoded.ok(), encoded.status().message());
  const auto again = encoding.DecodeStream(*encoded);
  TW_CHECK(again.ok() && *again == *instructions);
  for (const bool checked : {false, true}) {
    Dram dram;
    dram.Allocate("stream", bytes, false);
    dram.Allocate("scratch", std::int64_t{1} << 14, true);
    RunOptions options;
    options.check_hazards = checked;
    options.max_uops = 1 << 12;
    const RunResult run = RunStream(design, *instructions, &dram, options);
    (void)run.status().ok();
    (void)Simulate(design, *instructions, run.pipeline, CycleModel::Pynq());
  }
  const RunResult timed = RunStream(design, *instructions, nullptr);
  TraceWriter trace;
  trace.Add("launch", *instructions,
            Simulate(design, *instructions, timed.pipeline, CycleModel::Rtl(), true));
  (void)std::move(trace).Finish();
  return 0;
}
