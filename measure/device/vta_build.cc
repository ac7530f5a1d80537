#include <utility>

#include "measure/device/builders.h"
#include "measure/device/vta_candidate.h"
#include "src/base/files/file.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/stream_file.h"

namespace tilewright::measure {

Result<KernelSpec> BuildVtaKernel(const TemplateEntry& entry, const BuildOrder& order) {
  const Candidate& candidate = order.candidate;
  const Target& target = candidate.task.target;
  TW_ASSIGN_OR_RETURN(auto stream, BuildVtaStream(entry, candidate.task.workload,
                                                  candidate.epilogue, target, candidate.config));
  auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  TW_ASSIGN_OR_RETURN(auto bytes,
                      vta::WriteStreamFile({std::move(vta->design), std::move(stream)}));
  TW_RETURN_IF_ERROR(WriteFile(order.path, bytes));
  KernelSpec kernel = KernelOf(candidate);
  kernel.artifact = order.path;
  return kernel;
}

}  // namespace tilewright::measure
