// Record stores of arbitrary bytes: opened, listed, queried, checked.

#include <cstdint>
#include <string>
#include <string_view>

#include "records/store.h"
#include "src/base/files/file.h"
#include "tests/support/built_in.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;  // NOLINT: a test program of one function
  static const auto folder = ScopedTempDir::Create("tilewright-store-fuzz");
  if (!folder.ok()) return 0;
  const std::string path = folder->path() + "/records.db";
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!WriteFile(path, bytes).ok()) return 0;
  auto store = records::Store::Open(path, records::Store::Mode::kReadOnly);
  if (!store.ok()) return 0;
  (void)store->Trials({}).ok();
  (void)store->Check().ok();
  const auto workload = Workload::Parse("dense(float32[1,512]MK,float32[1000,512]NK)->float32");
  const auto target = Target::Parse("llvm -mcpu=haswell");
  if (workload.ok() && target.ok())
    (void)store->Query(BuiltInTemplates(), *workload, *target, {}).ok();
  return 0;
}
