// Records the spaces that bench/strategy_bench replays:
//   landscape_record FOLDER [CONFIGS [TASK]]
// measures about CONFIGS configs of each task (or of the one with that number) on this machine and
// stores them in FOLDER/<name>.csv. Configs already in a file are not measured again.
//   landscape_record --vta FOLDER
// runs every legal config of the ten packed convolutions of ResNet-18 on the VTA simulator, once
// for cycles and once for bytes.
//   landscape_record --t4 FOLDER FILE.csv...
// converts recorded spaces to T4 files, one for each template; FILE_cycles.csv with the bytes of
// FILE_dram_bytes.csv. The program is its own worker: "landscape_record worker build|run".
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/supervisor/process_measurer.h"
#include "records/exchange/t4_export.h"
#include "search/recorded/recorded_space.h"
#include "search/space.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/space/exchange/gzip.h"
#include "src/target/device.h"
#include "src/templates/device.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

struct RecordedTask {
  const char* name;
  const char* workload;
  const char* epilogue;
};

// Twelve tasks: each kind of layer of the three networks, both types, large and small.
constexpr RecordedTask kTasks[] = {
    {"resnet_first",
     "conv2d(float32[1,3,224,224]NCHW,float32[64,3,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"resnet_3x3_56",
     "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"resnet_3x3_28_stride",
     "conv2d(float32[1,64,56,56]NCHW,float32[128,64,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"resnet_3x3_14",
     "conv2d(float32[1,256,14,14]NCHW,float32[256,256,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"resnet_3x3_7",
     "conv2d(float32[1,512,7,7]NCHW,float32[512,512,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"resnet50_1x1_56",
     "conv2d(float32[1,64,56,56]NCHW,float32[256,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"resnet50_1x1_14",
     "conv2d(float32[1,1024,14,14]NCHW,float32[256,1024,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"mobilenet_1x1_28",
     "conv2d(float32[1,192,28,28]NCHW,float32[32,192,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32)"},
    {"mobilenet_depthwise_56",
     "depthwise_conv2d(float32[1,144,56,56]NCHW,float32[144,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g144)->"
     "float32",
     "add(channel:float32);clip(0,6)"},
    {"mobilenet_depthwise_14",
     "depthwise_conv2d(float32[1,576,14,14]NCHW,float32[576,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g576)->"
     "float32",
     "add(channel:float32);clip(0,6)"},
    {"resnet_dense", "dense(float32[1,512]MK,float32[1000,512]NK)->float32",
     "add(channel:float32)"},
    {"resnet_3x3_28_int8",
     "conv2d(int8[1,128,28,28]NCHW,int8[128,128,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
     "add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)"},
};

constexpr const char* kVtaTarget = "vta -model=sim_1x16_i8w8a32_15_15_18_17";
constexpr std::int64_t kEverything = std::int64_t{1} << 40;

// AutoTVM's space, as in the network, but without residual additions, which AutoTVM does not fuse.
constexpr const char* kWithRelu =
    "add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)";
constexpr const char* kWithoutRelu =
    "add(channel:int32);add(64);shift_right(7);clip(-127,127);cast(int8)";
constexpr RecordedTask kVtaTasks[] = {
    {"vta_3x3_56",
     "conv2d(int8[1,4,56,56,1,16]NCHW1n16c,int8[4,4,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
     "int32",
     kWithRelu},
    {"vta_1x1_56_stride",
     "conv2d(int8[1,4,56,56,1,16]NCHW1n16c,int8[8,4,1,1,16,16]OIHW16o16i,s2x2,p0x0x0x0,d1x1,g1)->"
     "int32",
     kWithoutRelu},
    {"vta_3x3_56_stride",
     "conv2d(int8[1,4,56,56,1,16]NCHW1n16c,int8[8,4,3,3,16,16]OIHW16o16i,s2x2,p1x1x1x1,d1x1,g1)->"
     "int32",
     kWithRelu},
    {"vta_3x3_28",
     "conv2d(int8[1,8,28,28,1,16]NCHW1n16c,int8[8,8,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
     "int32",
     kWithRelu},
    {"vta_1x1_28_stride",
     "conv2d(int8[1,8,28,28,1,16]NCHW1n16c,int8[16,8,1,1,16,16]OIHW16o16i,s2x2,p0x0x0x0,d1x1,g1)->"
     "int32",
     kWithoutRelu},
    {"vta_3x3_28_stride",
     "conv2d(int8[1,8,28,28,1,16]NCHW1n16c,int8[16,8,3,3,16,16]OIHW16o16i,s2x2,p1x1x1x1,d1x1,g1)->"
     "int32",
     kWithRelu},
    {"vta_3x3_14",
     "conv2d(int8[1,16,14,14,1,16]NCHW1n16c,int8[16,16,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)"
     "->int32",
     kWithRelu},
    {"vta_1x1_14_stride",
     "conv2d(int8[1,16,14,14,1,16]NCHW1n16c,int8[32,16,1,1,16,16]OIHW16o16i,s2x2,p0x0x0x0,d1x1,g1)"
     "->int32",
     kWithoutRelu},
    {"vta_3x3_14_stride",
     "conv2d(int8[1,16,14,14,1,16]NCHW1n16c,int8[32,16,3,3,16,16]OIHW16o16i,s2x2,p1x1x1x1,d1x1,g1)"
     "->int32",
     kWithRelu},
    {"vta_3x3_7",
     "conv2d(int8[1,32,7,7,1,16]NCHW1n16c,int8[32,32,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
     "int32",
     kWithRelu},
};

Status Record(const RecordedTask& one, const std::string& path, const std::string& target_text,
              std::int64_t configs, measure::Measurer& measurer) {
  search::RecordedSpace recorded_space;
  if (FileExists(path)) {
    TW_ASSIGN_OR_RETURN(recorded_space, search::RecordedSpace::Load(path));
  } else {
    TW_ASSIGN_OR_RETURN(const Workload workload, Workload::Parse(one.workload));
    TW_ASSIGN_OR_RETURN(const Epilogue epilogue, Epilogue::Parse(one.epilogue));
    TW_ASSIGN_OR_RETURN(const Target target, Target::Parse(target_text));
    TW_ASSIGN_OR_RETURN(const search::SearchSpace space,
                        search::MakeSearchSpace(BuiltInTemplates(), {workload, target}, epilogue));
    recorded_space = search::PlanRecordedSpace(space, configs);
  }
  const auto progress = [&](std::size_t rows, std::size_t legal) {
    if (rows % 50 == 0 || rows == legal) {
      std::fprintf(stderr, "%s: %zu of %zu, best %.6g %s\n", one.name, rows, legal,
                   recorded_space.best_value(), recorded_space.metric.c_str());
    }
    // Recorded rows survive an interruption; the next run continues.
    return rows % 50 != 0 || WriteFile(path, recorded_space.ToString()).ok();
  };
  TW_RETURN_IF_ERROR(search::RecordSpace(BuiltInTemplates(), recorded_space, measurer, progress));
  return WriteFile(path, recorded_space.ToString());
}

measure::ProcessMeasurerSettings Settings() {
  measure::ProcessMeasurerSettings settings;
  settings.build_command = {"/proc/self/exe", "worker", "build"};
  settings.run_commands = {{"/proc/self/exe", "worker", "run"}};
  return settings;
}

/// Records every config by both metrics.
Status RecordVta(const std::string& folder) {
  for (const std::string metric : {"cycles", "dram_bytes"}) {
    const std::string target_text = std::string(kVtaTarget) + " -metric=" + metric;
    TW_ASSIGN_OR_RETURN(const Target target, Target::Parse(target_text));
    TW_ASSIGN_OR_RETURN(DeviceFingerprint device, DeviceFor(target));
    measure::ProcessMeasurerSettings settings = Settings();
    settings.device = std::move(device);
    settings.runner.calibrate = false;
    TW_ASSIGN_OR_RETURN(const auto measurer, measure::ProcessMeasurer::Create(std::move(settings)));
    for (const RecordedTask& one : kVtaTasks) {
      const std::string path = folder + "/" + one.name + "_" + metric + ".csv";
      TW_RETURN_IF_ERROR(Record(one, path, target_text, kEverything, *measurer));
    }
  }
  return {};
}

/// Converts one recorded space. bytes: of the same configs; null without.
Status Convert(const search::RecordedSpace& recorded, const search::RecordedSpace* bytes,
               const std::string& path) {
  TW_ASSIGN_OR_RETURN(const search::SearchSpace space, recorded.Space(BuiltInTemplates()));
  std::map<int, T4File> files;  // by template
  for (const search::RecordedSpace::Row& row : recorded.rows) {
    Trial trial;
    trial.candidate = search::ToCandidate(space, row.point);
    trial.codegen_version = DeviceTraitsOf(recorded.task.target).codegen_version;
    TW_ASSIGN_OR_RETURN(trial.device, DeviceFingerprint::Parse(recorded.device));
    trial.metric = recorded.metric;
    trial.outcome = row.outcome;
    trial.value = row.value;
    trial.verified = row.outcome == Outcome::kOk;
    const search::RecordedSpace::Row* other = bytes != nullptr ? bytes->Find(row.point) : nullptr;
    if (other != nullptr && other->value > 0) trial.others[bytes->metric] = other->value;
    const auto [file, added] = files.try_emplace(row.point.space);
    if (added) file->second = records::T4FileFor(BuiltInTemplates(), trial);
    file->second.results.push_back(records::T4ResultOf(trial));
  }
  for (const auto& [number, file] : files) {
    if (file.results.size() < 2) continue;  // no choice
    const std::string& key = recorded.spaces[static_cast<std::size_t>(number)].template_key;
    const std::string suffix = recorded.spaces.size() == 1 ? "" : "." + key;
    TW_RETURN_IF_ERROR(WriteMaybeGzip(path + suffix + ".T4.json.gz", file.ToString()));
  }
  return {};
}

Status ConvertAll(const std::string& folder, const std::vector<std::string>& files) {
  constexpr std::string_view kCycles = "_cycles.csv", kPlain = ".csv";
  for (const std::string& file : files) {
    TW_ASSIGN_OR_RETURN(const auto recorded, search::RecordedSpace::Load(file));
    std::string stem = file.substr(0, file.size() - kPlain.size());
    std::optional<search::RecordedSpace> bytes;
    if (file.ends_with(kCycles)) {
      stem = file.substr(0, file.size() - kCycles.size());
      TW_ASSIGN_OR_RETURN(bytes, search::RecordedSpace::Load(stem + "_dram_bytes.csv"));
    }
    const std::string name = stem.substr(stem.rfind('/') + 1);
    const Status done = Convert(recorded, bytes ? &*bytes : nullptr, folder + "/" + name);
    if (!done.ok()) return done.WithContext(file);
  }
  return {};
}

/// Runs one of the modes without a device; nullopt for other arguments.
std::optional<Status> RunMode(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "--vta") {
    return RecordVta(words[1]);
  }
  if (words.size() > 2 && words[0] == "--t4") {
    return ConvertAll(words[1], {words.begin() + 2, words.end()});
  }
  return std::nullopt;
}

int Main(int argc, char** argv) {
  if (const auto status = RunMode({argv + 1, argv + argc})) {
    if (!status->ok()) std::fprintf(stderr, "%s\n", status->message().c_str());
    return status->ok() ? 0 : 1;
  }
  if (argc == 3 && std::strcmp(argv[1], "worker") == 0) {
    return std::strcmp(argv[2], "build") == 0 ? measure::BuildWorkerMain(BuiltInTemplates(), 0, 1)
                                              : measure::RunWorkerMain(0, 1);
  }
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: landscape_record FOLDER [CONFIGS [TASK]], --vta FOLDER or "
                 "--t4 FOLDER FILE.csv...\n");
    return 2;
  }
  const std::int64_t configs =
      argc > 2 ? ParseInt64(argv[2]).ok() ? *ParseInt64(argv[2]) : 0 : 1500;
  const auto measurer = measure::ProcessMeasurer::Create(Settings());
  if (!measurer.ok()) {
    std::fprintf(stderr, "%s\n", measurer.status().message().c_str());
    return 1;
  }
  int number = 0;
  for (const RecordedTask& one : kTasks) {
    if (argc > 3 && std::to_string(number++) != argv[3]) continue;
    const std::string path = std::string(argv[1]) + "/" + one.name + ".csv";
    const Status status = Record(one, path, "native", configs, **measurer);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", one.name, status.message().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) { return tilewright::Main(argc, argv); }
