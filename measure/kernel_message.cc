#include "measure/kernel_message.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "measure/kernel_check.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/target/device.h"

namespace tilewright::measure {
namespace {

Json TypeJson(const TensorType& type) {
  return Json{{"shape", type.shape}, {"dtype", DataTypeName(type.dtype)}};
}

TensorType TypeFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  TensorType type;
  type.shape = fields.Integers("shape");
  auto dtype = ParseDataType(fields.Text("dtype"));
  // No more than an address space holds, or sizes would run over.
  constexpr double kMaxElements = 1e14;
  double elements = 1;
  for (std::int64_t extent : type.shape) {
    elements *= static_cast<double>(std::max<std::int64_t>(extent, 1));
    if (extent < 0) elements = 2 * kMaxElements;
  }
  if (elements > kMaxElements) {
    fields.Fail(Corrupt("message: shape is none of a tensor"));
  }
  outer.Fail(fields.status());
  if (dtype.ok()) {
    type.dtype = *dtype;
  } else {
    outer.Fail(dtype.status());
  }
  return type;
}

Json KernelLayoutsToJson(const KernelLayouts& layouts) {
  return Json{{"data", layouts.data},
              {"weight", layouts.weight},
              {"output", layouts.output},
              {"multiply", layouts.multiply_dtype ? DataTypeName(*layouts.multiply_dtype) : ""},
              {"shift", layouts.shift_data},
              {"winograd", layouts.winograd_tile}};
}

KernelLayouts FormFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  KernelLayouts layouts;
  layouts.data = fields.Text("data");
  layouts.weight = fields.Text("weight");
  layouts.output = fields.Text("output");
  layouts.shift_data = fields.Flag("shift");
  layouts.winograd_tile = fields.Integer("winograd");
  const std::string multiply = fields.Text("multiply");
  outer.Fail(fields.status());
  if (!multiply.empty()) {
    auto dtype = ParseDataType(multiply);
    if (dtype.ok()) layouts.multiply_dtype = *dtype;
    outer.Fail(ToStatus(dtype));
  }
  return layouts;
}

Json LaunchesJson(const KernelSpec& kernel) {
  Json launches = Json::array();
  for (const CudaLaunch& launch : kernel.launches) {
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"shared_bytes", launch.shared_bytes}});
    const CudaLibraryCall& call = launch.library;
    if (call.file.empty()) continue;
    launches.back()["library"] = call.file;
    launches.back()["operation"] = call.operation;
    launches.back()["shape"] = call.shape;
    launches.back()["operands"] = call.operands;
  }
  return launches;
}

CudaLaunch LaunchFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  CudaLaunch launch;
  launch.kernel = fields.Text("kernel");
  const auto extents = [&](const char* name) {
    std::array<std::int64_t, 3> three = {1, 1, 1};
    const std::vector<std::int64_t> all = fields.Integers(name);
    if (all.size() == three.size()) {
      std::ranges::copy(all, three.begin());
    } else {
      fields.Fail(Corrupt(std::string("message: ") + name + " has not three numbers"));
    }
    return three;
  };
  launch.grid = extents("grid");
  launch.block = extents("block");
  launch.shared_bytes = fields.Integer("shared_bytes");
  if (fields.Has("library")) {
    CudaLibraryCall& call = launch.library;
    call.file = fields.Text("library");
    // A call without a library would be taken for a kernel that has none of a kernel's checks.
    if (call.file.empty()) fields.Fail(Corrupt("message: library is empty"));
    call.operation = fields.Text("operation");
    call.shape = fields.Integers("shape");
    if (call.shape.size() * sizeof(std::int64_t) != sizeof(TwLibraryShape)) {
      fields.Fail(Corrupt("message: shape has not as many numbers as a library call takes"));
    }
    const auto operands = extents("operands");
    for (std::size_t i = 0; i < operands.size(); ++i) {
      constexpr std::int64_t kMaxOperand = 1 << 20;
      if (operands[i] < 0 || operands[i] > kMaxOperand) {
        fields.Fail(Corrupt("message: operands has what is no argument's place"));
        break;
      }
      call.operands[i] = static_cast<int>(operands[i]);
    }
  }
  outer.Fail(fields.status());
  return launch;
}

}  // namespace

std::string ArtifactName(std::string_view bytes) {
  return "artifact." + HexOf(Fnv1a64(bytes)) + "." + std::to_string(bytes.size());
}

Status CheckArtifact(const std::string& path, const std::string& name) {
  struct stat info {};
  if (name.empty() || ::stat(path.c_str(), &info) != 0) return {};
  // No more is read than it may be.
  const bool length = name.ends_with("." + std::to_string(info.st_size));
  TW_ASSIGN_OR_RETURN(const auto bytes,
                      length ? ReadFile(path) : Result<std::string>(std::string()));
  if (ArtifactName(bytes) == name) return {};
  return Corrupt("message: the file " + name + " arrived damaged");
}

const TaskInfo* TaskFrom(Fields& fields, const TaskTable& tasks, std::uint64_t* number) {
  *number = static_cast<std::uint64_t>(fields.Integer("task"));
  const TaskInfo* task = tasks.Find(*number);
  if (task == nullptr) {
    fields.Fail(Corrupt("message: task " + std::to_string(*number) + " was not told"));
  }
  return task;
}

Json ToJson(const KernelSpec& kernel) {
  Json parameters = Json::array();
  for (const KernelParameter& parameter : kernel.signature.parameters) {
    parameters.push_back(TypeJson(parameter.type));
  }
  return Json{{"task", static_cast<std::int64_t>(kernel.task)},
              {"form", KernelLayoutsToJson(kernel.signature.layouts)},
              {"parameters", std::move(parameters)},
              {"artifact", kernel.artifact},
              {"artifact_name", kernel.artifact_name},
              {"symbol", kernel.symbol},
              {"code_bytes", kernel.code_bytes},
              {"threads", kernel.threads},
              {"tolerance", kernel.tolerance ? Json(*kernel.tolerance) : Json()},
              {"launches", LaunchesJson(kernel)},
              {"workspace_bytes", kernel.workspace_bytes}};
}

KernelSpec KernelSpecFrom(const Json& json, Fields& outer, const TaskTable& tasks) {
  Fields fields(json);
  KernelSpec kernel;
  const TaskInfo* task = TaskFrom(fields, tasks, &kernel.task);
  const KernelLayouts layouts = FormFrom(fields.Get("form", Json::value_t::object), fields);
  std::vector<TensorType> types;
  for (const Json& type : fields.Get("parameters", Json::value_t::array)) {
    types.push_back(TypeFrom(type, fields));
  }
  kernel.artifact = fields.Text("artifact");
  kernel.artifact_name = fields.Text("artifact_name");
  kernel.symbol = fields.Text("symbol");
  // None of builders of earlier versions.
  if (fields.Has("code_bytes")) {
    kernel.code_bytes = std::max<std::int64_t>(0, fields.Integer("code_bytes"));
  }
  kernel.threads = fields.Threads();
  kernel.tolerance = fields.NumberOrNull("tolerance");
  for (const Json& launch : fields.Get("launches", Json::value_t::array)) {
    kernel.launches.push_back(LaunchFrom(launch, fields));
  }
  kernel.workspace_bytes = fields.Integers("workspace_bytes");
  outer.Fail(fields.status());
  if (!outer.status().ok()) return kernel;
  kernel.target = task->target;
  kernel.workload = task->workload;
  kernel.epilogue = task->epilogue;
  if (!types.empty() || DeviceTraitsOf(kernel.target).loops) {
    auto signature = SignatureOf(kernel.workload, kernel.epilogue, layouts, types);
    outer.Fail(ToStatus(signature));
    if (!signature.ok()) return kernel;
    kernel.signature = *std::move(signature);
  }
  outer.Fail(CheckKernel(kernel));
  return kernel;
}

}  // namespace tilewright::measure
