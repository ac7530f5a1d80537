#include "measure/kernel_message.h"

#include <sys/stat.h>

#include <algorithm>

#include "measure/kernel_check.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/target/device.h"

namespace tilewright {

using DataTypeCodec = TextCodec<DataTypeName, ParseDataType>;

/// Codec of a type that may be missing: an empty text.
struct OptionalDataTypeCodec {
  Json Write(const std::optional<DataType>& dtype) const {
    return dtype ? DataTypeName(*dtype) : "";
  }
  void Read(JsonReader& reader, const char* name, const Json& json,
            std::optional<DataType>& dtype) const {
    if (json != "") DataTypeCodec().Read(reader, name, json, dtype.emplace());
  }
};

// In their structs' namespace, where lookup finds Describe.

static void Describe(auto& fields, DescribedAs<TensorType> auto& type) {
  fields("shape", type.shape);
  fields("dtype", type.dtype, DataTypeCodec());
  // Larger values would overflow sizes.
  constexpr double kMaxElements = 1e14;
  double elements = 1;
  for (const std::int64_t extent : type.shape) {
    elements *= static_cast<double>(std::max<std::int64_t>(extent, 1));
    if (extent < 0) elements = 2 * kMaxElements;
  }
  fields.Require(elements <= kMaxElements, "shape is none of a tensor");
}

static void Describe(auto& fields, DescribedAs<KernelParameter> auto& parameter) {
  Describe(fields, parameter.type);
}

static void Describe(auto& fields, DescribedAs<SpatialPack> auto& pack) {
  fields("channels", pack.channels);
  fields("rows", pack.rows);
  fields("columns", pack.columns);
}

static void Describe(auto& fields, DescribedAs<KernelLayouts> auto& layouts) {
  fields("data", layouts.data);
  fields("weight", layouts.weight);
  fields("output", layouts.output);
  fields("multiply", layouts.multiply_dtype, OptionalDataTypeCodec());
  fields("shift", layouts.shift_data);
  fields("winograd", layouts.winograd_tile);
  fields.Optional("pack", layouts.spatial_pack != SpatialPack(), layouts.spatial_pack);
}

static void Describe(auto& fields, DescribedAs<GridLaunch> auto& launch) {
  fields("kernel", launch.kernel);
  fields("grid", launch.grid);
  fields("block", launch.block);
  fields("shared_bytes", launch.shared_bytes);
  auto& call = launch.library;
  if (!fields.Optional("library", !call.file.empty(), call.file)) return;
  // A call without a library would run as a kernel without a kernel's checks.
  fields.Require(!call.file.empty(), "library is empty");
  fields("operation", call.operation);
  fields("shape", call.shape);
  fields.Require(call.shape.size() * sizeof(std::int64_t) == sizeof(TwLibraryShape),
                 "shape has not as many numbers as a library call takes");
  fields("operands", call.operands, ListCodec(RangeCodec<int>{0, 1 << 20}));
}

namespace measure {
namespace {

void DescribeKernel(auto& fields, auto& kernel) {
  fields("task", kernel.task);
  fields("form", kernel.signature.layouts);
  fields("parameters", kernel.signature.parameters);
  fields("artifact", kernel.artifact);
  fields("artifact_name", kernel.artifact_name);
  fields("symbol", kernel.symbol);
  // Builders of earlier versions do not send it.
  fields.Optional("code_bytes", true, kernel.code_bytes);
  fields("threads", kernel.threads, kThreads);
  fields("tolerance", kernel.tolerance, NullableCodec<>());
  fields("launches", kernel.launches);
  fields("workspace_bytes", kernel.workspace_bytes);
}

}  // namespace

void Describe(JsonWriter& fields, const KernelSpec& kernel) { DescribeKernel(fields, kernel); }

void Describe(JsonReader& fields, KernelSpec& kernel) {
  DescribeKernel(fields, kernel);
  kernel.code_bytes = std::max<std::int64_t>(0, kernel.code_bytes);
}

Json ToJson(const KernelSpec& kernel) { return WriteJson(kernel); }

Status CompleteKernel(KernelSpec& kernel, const TaskTable& tasks) {
  TW_ASSIGN_OR_RETURN(const TaskInfo* task, TaskOf(kernel.task, tasks));
  kernel.target = task->target;
  kernel.workload = task->workload;
  kernel.epilogue = task->epilogue;
  std::vector<TensorType> types;
  for (const KernelParameter& parameter : kernel.signature.parameters) {
    types.push_back(parameter.type);
  }
  if (!types.empty() || DeviceTraitsOf(kernel.target).loops) {
    TW_ASSIGN_OR_RETURN(kernel.signature, SignatureOf(kernel.workload, kernel.epilogue,
                                                      kernel.signature.layouts, types));
  } else {
    kernel.signature = {};
  }
  return CheckKernel(kernel);
}

Result<const TaskInfo*> TaskOf(std::uint64_t number, const TaskTable& tasks) {
  const TaskInfo* task = tasks.Find(number);
  if (task == nullptr) return Corrupt("message: task " + std::to_string(number) + " is unknown");
  return task;
}

std::string ArtifactName(std::string_view bytes) {
  return "artifact." + HexOf(Fnv1a64(bytes)) + "." + std::to_string(bytes.size());
}

Status CheckArtifact(const std::string& path, const std::string& name) {
  struct stat info {};
  if (name.empty() || ::stat(path.c_str(), &info) != 0) return {};
  // Files of another length are not read: they may be of any length.
  const bool length = name.ends_with("." + std::to_string(info.st_size));
  TW_ASSIGN_OR_RETURN(const auto bytes,
                      length ? ReadFile(path) : Result<std::string>(std::string()));
  if (ArtifactName(bytes) == name) return {};
  return Corrupt("message: the file " + name + " arrived damaged");
}

}  // namespace measure
}  // namespace tilewright
