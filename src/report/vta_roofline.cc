#include "src/report/vta_roofline.h"

#include "src/templates/vta/vta_target.h"

namespace tilewright::report {

void FillVtaRoofline(const Task& task, Roofline& roofline) {
  const auto vta = VtaTargetOf(task.target);
  if (!vta.ok() || vta->metric != kVtaCycles) {
    roofline.peaks_of = "trials are compared by bytes, not by time";
    return;
  }
  const double entry = static_cast<double>(vta->design.batch()) * vta->design.block();
  roofline.per = "cycle";
  const auto output = task.workload.OutputType();
  const double products = static_cast<double>(task.workload.macs()) / vta->design.block();
  const double results = output.ok() ? static_cast<double>(output->elements()) : 0;
  roofline.bound = (products > 0 ? products : results) / entry;
  if (roofline.bound <= 0) return;
  roofline.peak_operations = roofline.operations / roofline.bound;
  roofline.far_bytes = vta->cycles.bytes_per_cycle;
  roofline.peaks_of = "the design, cycle model " + vta->cycles.name;
}

}  // namespace tilewright::report
