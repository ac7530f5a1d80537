// What a runner and its supervisor read from each other, once they are on two machines: any line
// gives a message or an error, and files stay in the runner's folder.

#include <cstdint>
#include <string_view>

#include "measure/worker/file_receiver.h"
#include "src/base/files/file.h"

namespace {

template <typename T>
void RoundTrip(const tilewright::Result<T>& value,
               tilewright::Result<T> (*parse)(const tilewright::Json&)) {
  if (!value.ok()) return;
  const std::string line = tilewright::measure::LineOf(ToJson(*value));
  const auto again = tilewright::ParseJson(line);
  TW_CHECK(again.ok() && parse(*again).ok(), line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright::measure;  // NOLINT: a test program of one function
  const auto json = tilewright::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!json.ok()) return 0;
  static const TaskTable tasks = [] {
    TaskTable table;
    TW_CHECK(table
                 .Add(1, {*tilewright::Workload::Parse(
                              "dense(float32[4,16]MK,float32[32,16]NK)->float32"),
                          {},
                          *tilewright::Target::Parse("llvm")})
                 .ok());
    return table;
  }();
  const auto order = RunOrderFrom(*json, tasks);
  if (order.ok()) {
    const std::string line = LineOf(ToJson(*order));
    TW_CHECK(RunOrderFrom(*tilewright::ParseJson(line), tasks).ok(), line);
  }
  RoundTrip(TaskMessageFrom(*json), TaskMessageFrom);
  RoundTrip(RunReplyFrom(*json), RunReplyFrom);
  RoundTrip(ProbeOrderFrom(*json), ProbeOrderFrom);
  RoundTrip(ProbeReplyFrom(*json), ProbeReplyFrom);
  RoundTrip(RunnerHandshakeFrom(*json), RunnerHandshakeFrom);
  RoundTrip(RunWorkerSettingsFrom(*json), RunWorkerSettingsFrom);
  const auto part = FileChunkFrom(*json);
  RoundTrip(part, FileChunkFrom);
  FileReceiver receiver;
  if (part.ok() && receiver.Receive(*part).ok()) {
    TW_CHECK(tilewright::FileExists(receiver.PathOf(part->name)), part->name);
  }
  return 0;
}
