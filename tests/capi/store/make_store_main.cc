// capi_make_store FILE: creates a record store with one verified trial for each of two operators on
// this machine, for the programs that use the installed library.
// capi_make_store FILE KEY N: the same with one trial of KEY, of the N-th of its configs: they
// alternate between the templates that serve KEY and are spread over the legal ones of each space.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "records/store.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

Trial MakeTrial(const char* key, const Target& target) {
  const Workload workload = *Workload::Parse(key);
  const TemplateEntry* entry = BuiltInTemplates().For(workload, target).front();
  Trial trial;
  trial.candidate.task = {workload, target};
  trial.candidate.template_key = entry->key;
  trial.candidate.template_version = entry->version;
  trial.candidate.config = entry->define_space(workload, target)->At(1);
  trial.outcome = Outcome::kOk;
  trial.samples = {0.001, 0.0011, 0.0009};
  trial.value = 0.001;
  trial.noise = 0.01;
  trial.verified = true;
  trial.device = ProbeHostCpu();
  trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
  trial.finished_unix_seconds = 1.75e9;
  return trial;
}

/// Returns a trial of the N-th config.
Trial MakeTrialOf(const char* key, const Target& target, std::int64_t number) {
  Trial trial = MakeTrial(key, target);
  const Workload& workload = trial.candidate.task.workload;
  const auto entries = BuiltInTemplates().For(workload, target);
  const auto count = static_cast<std::int64_t>(entries.size());
  const TemplateEntry* entry = entries[static_cast<std::size_t>(number % count)];
  const auto space = entry->define_space(workload, target);
  trial.candidate.template_key = entry->key;
  trial.candidate.template_version = entry->version;
  // A step that shares no factor with the sizes of spaces visits knobs in an irregular order.
  // Illegal configs have no verified trials.
  Status legal;
  std::int64_t index = number / count * 7919 % space->size();
  do {
    trial.candidate.config = space->At(index);
    legal = ApplyTemplate(*entry, workload, Epilogue(), target, trial.candidate.config).status();
    index = (index + 7919) % space->size();
  } while (!legal.ok());
  return trial;
}

Status Make(const std::string& path, const char* key, std::int64_t number) {
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  TW_RETURN_IF_ERROR(store);
  auto job = store->OpenJob("made for tests", "{}", 1);
  TW_RETURN_IF_ERROR(job);
  auto target = Target::Parse("native");
  TW_RETURN_IF_ERROR(target);
  if (key != nullptr) return store->Append(job->id, {MakeTrialOf(key, *target, number)}, {});
  return store->Append(
      job->id,
      {MakeTrial("conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)"
                 "->float32",
                 *target),
       MakeTrial("dense(float32[1,512]MK,float32[1000,512]NK)->float32", *target)},
      {});
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) return 2;
  const tilewright::Status status = tilewright::Make(
      argv[1], argc == 4 ? argv[2] : nullptr, argc == 4 ? std::strtoll(argv[3], nullptr, 10) : 0);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
