// Builds of candidates, for each artifact format. Loops are lowered and generated alike; the
// runner's artifact differs: a library to load or the text of grids to launch.

#include "measure/device/builders.h"

#include "measure/device/grid_candidate.h"
#include "measure/device/vta_candidate.h"
#include "src/base/files/file.h"
#include "src/codegen/codegen.h"
#include "src/codegen/runtime_archive.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/tolerance.h"
#include "src/target/device.h"
#include "src/templates/limits.h"

namespace tilewright::measure {
namespace {

/// A resource that the system denied (disk space, memory, descriptors) is not the candidate's
/// failure.
FaultDomain FaultDomainOf(const Status& status) {
  return status.code() == StatusCode::kUnavailable ? FaultDomain::kMachine
                                                   : FaultDomain::kUndetermined;
}

/// Writes the artifact of generated code, and adds the members to the kernel that the artifact does
/// not contain.
using WriteArtifact = Status (*)(const Program&, const std::string& object, const BuildOrder&,
                                 KernelSpec&);

BuildResult BuildLoops(const TemplateEntry& entry, const BuildOrder& order, WriteArtifact write) {
  const Candidate& candidate = order.candidate;
  const Target& target = candidate.task.target;
  auto kernel =
      ApplyTemplate(entry, candidate.task.workload, candidate.epilogue, target, candidate.config);
  if (!kernel.ok()) return InvalidCandidate(kernel.status());
  if (!kernel->schedule.status().ok()) return InvalidCandidate(kernel->schedule.status());
  auto program = Lower(kernel->schedule, kCandidateSymbol, LowerLimitsFor(target));
  if (!program.ok()) return InvalidCandidate(program.status());
  auto object = Generate({*program}, target, Emit::kObject);
  if (!object.ok()) return BuildFailure(object.status());
  auto signature = SignatureOf(candidate.task.workload, candidate.epilogue, kernel->layouts,
                               program->parameters);
  if (!signature.ok()) return BuildFailure(signature.status());
  BuildResult built{.kernel = KernelOf(candidate)};
  const Status written = write(*program, *object, order, built.kernel);
  if (!written.ok()) return BuildFailure(written);
  if (DeviceTraitsOf(target).machine_code) {
    auto bytes = CodeBytes(*object);
    if (!bytes.ok()) return BuildFailure(bytes.status());
    built.kernel.code_bytes = *bytes;
  }
  built.kernel.signature = *std::move(signature);
  built.kernel.artifact = order.path;
  built.kernel.symbol = kCandidateSymbol;
  built.kernel.tolerance = ToleranceOf(*program);
  return built;
}

BuildResult BuildLibrary(const TemplateEntry& entry, const BuildOrder& order) {
  return BuildLoops(
      entry, order,
      [](const Program& program, const std::string& object, const BuildOrder& to,
         KernelSpec& kernel) { return LinkKernel(program, object, kernel.target, to.path); });
}

BuildResult BuildGrids(const TemplateEntry& entry, const BuildOrder& order) {
  return BuildLoops(
      entry, order,
      [](const Program& program, const std::string& ptx, const BuildOrder& to, KernelSpec& kernel) {
        DescribeLaunches(program, &kernel);
        return WriteFile(to.path, ptx);
      });
}

BuildResult BuildStream(const TemplateEntry& entry, const BuildOrder& order) {
  auto kernel = BuildVtaKernel(entry, order);
  return kernel.ok() ? BuildResult{.kernel = *std::move(kernel)}
                     : InvalidCandidate(kernel.status());
}

}  // namespace

BuildResult InvalidCandidate(const Status& status) {
  const bool refused = status.code() == StatusCode::kInvalidArgument ||
                       status.code() == StatusCode::kUnsupported ||
                       status.code() == StatusCode::kNotFound;
  if (refused) return {Outcome::kInvalid, status.message(), {}};
  return {Outcome::kBuildFailed, status.message(), {}, FaultDomainOf(status)};
}

BuildResult BuildFailure(const Status& status) {
  return {Outcome::kBuildFailed,
          std::string(StatusCodeName(status.code())) + ": " + status.message(),
          {},
          FaultDomainOf(status)};
}

KernelSpec KernelOf(const Candidate& candidate) {
  KernelSpec kernel;
  kernel.target = candidate.task.target;
  kernel.workload = candidate.task.workload;
  kernel.epilogue = candidate.epilogue;
  kernel.threads = kernel.target.num_threads();
  return kernel;
}

BuildResult BuildFor(const TemplateEntry& entry, const BuildOrder& order) {
  const Target& target = order.candidate.task.target;
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (device.machine_code) return BuildLibrary(entry, order);
  if (device.launches_grids) return BuildGrids(entry, order);
  if (!device.loops) return BuildStream(entry, order);
  return InvalidCandidate(
      Unsupported("no candidates are built for target kind " + target.kind_name()));
}

}  // namespace tilewright::measure
