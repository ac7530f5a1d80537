#include "python_free_cli/arguments/network_target.h"

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/print.h"
#include "src/session/target.h"

namespace tilewright::cli {

void NetworkTarget::Declare(CLI::App& app) {
  app_ = &app;
  app.add_option(
      "--target", target,
      "Run a model file on this target: vta (simulated), 'cuda -arch=sm_80' or opencl (see "
      "--device)");
  app.add_option("--vta-config", vta_config,
                 "Design of the VTA: a file, or a name such as sim or pynq");
  sources.Declare(app, "default");
}

const DeviceTraits& NetworkTarget::device() const {
  const auto parsed = Target::Parse(target);
  return parsed.ok() ? DeviceTraitsOf(*parsed) : FindDeviceTraits({});
}

Result<Target> NetworkTarget::Parse() const {
  return session::ParseTarget(target.empty() ? "vta" : target, 1, vta_config, {}, PrintNote);
}

bool NetworkTarget::asks_for_records() const {
  return sources.rule != "own" || !sources.stores.empty() || !sources.packages.empty() ||
         !sources.model_file.empty() || !sources.prefer.empty();
}

Status NetworkTarget::RefuseRecords(std::string_view why) const {
  return RejectOptions(*app_,
                       {"--records", "--package", "--no-packages", "--accept", "--rule", "--tophub",
                        "--model", "--prefer", "--key", "--allow-unsigned"},
                       why);
}

Status NetworkTarget::CheckUnused() const {
  return RefuseRecords("needs --target vta, cuda, opencl or rocm; a library contains its configs");
}

Status NetworkTarget::CheckUnusedBy(const std::string& bundle) const {
  const std::string why = bundle + " contains its design and configs; expected the model file";
  TW_RETURN_IF_ERROR(RejectOptions(*app_, {"--target", "--vta-config"}, why));
  return RefuseRecords(why);
}

}  // namespace tilewright::cli
