// C functions of the choice of one config for several devices.

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "records/devices/shares_json.h"
#include "src/base/json.h"
#include "src/capi/boundary.h"
#include "src/capi/catalog.h"
#include "src/capi/handles.h"
#include "src/capi/task.h"

/// Results of a task on devices, their shares, and the choice with its texts.
struct tw_device_choice {
  explicit tw_device_choice(std::vector<tilewright::records::ConfigResults> read)
      : results(std::move(read)), table(results) {}

  const std::vector<tilewright::records::ConfigResults> results;
  const tilewright::records::ShareTable table;
  tilewright::records::ShareScore by = tilewright::records::ShareScore::kWorst;
  tilewright::records::SharedChoice choice;
  std::string config, key;  // of the template
};

namespace tilewright::capi {
namespace {

static_assert(TW_EVIDENCE_NONE == static_cast<int>(records::ShareEvidence::kNone));
static_assert(TW_EVIDENCE_MEASURED == static_cast<int>(records::ShareEvidence::kMeasured));
static_assert(TW_EVIDENCE_PREDICTED == static_cast<int>(records::ShareEvidence::kPredicted));

constexpr std::size_t kMaxDevices = 256;
constexpr std::size_t kMaxChoices = 5;  // of each list of the JSON

using Choices = Handles<tw_device_choice>;

Result<std::vector<std::string>> NamesOf(const char* const* devices, std::size_t count) {
  if (count == 0 || count > kMaxDevices) {
    return InvalidArgument(std::to_string(count) + " devices, expected 1 to " +
                           std::to_string(kMaxDevices));
  }
  if (devices == nullptr) return InvalidArgument("the devices are null");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(std::string name, CallerText(devices[i], "name of a device"));
    names.push_back(std::move(name));
  }
  return names;
}

Status Choose(tw_catalog* catalog, const tw_target* target, const char* key,
              const char* const* devices, std::size_t count, std::int32_t by,
              tw_device_choice** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the choice is null");
  *out = nullptr;
  if (catalog == nullptr) return InvalidArgument("the catalog is null");
  if (target == nullptr) return InvalidArgument("the target is null");
  if (by != TW_BY_WORST && by != TW_BY_MEAN) {
    return InvalidArgument("by is " + std::to_string(by) + ", expected a TW_BY_ value");
  }
  TW_ASSIGN_OR_RETURN(const std::string text, CallerText(key, "key"));
  TW_ASSIGN_OR_RETURN(const Workload workload, Workload::Parse(text));
  TW_ASSIGN_OR_RETURN(const auto names, NamesOf(devices, count));
  TW_ASSIGN_OR_RETURN(const auto read, catalog->catalog.ResultsOf(*target, workload));
  std::vector<records::ConfigResults> results;
  TW_ASSIGN_OR_RETURN(results, read.OnAll(names));
  auto made = std::make_shared<tw_device_choice>(std::move(results));
  made->by = by == TW_BY_MEAN ? records::ShareScore::kMean : records::ShareScore::kWorst;
  made->choice = records::ChooseShared(made->table, made->by, kMaxChoices);
  if (!made->choice.measured.empty()) {
    const std::string& chosen = made->table.configs()[made->choice.measured.front().config];
    std::tie(made->key, made->config) = records::PartsOfConfigText(chosen);
  }
  *out = Choices::Table().Add(std::move(made));
  return {};
}

Status FillShare(const tw_device_choice& choice, const records::Share& share, std::size_t device,
                 tw_share* out) {
  tw_share view = TW_SHARE_INIT;
  view.evidence = static_cast<std::int32_t>(share.evidence);
  view.device = choice.results[device].name.c_str();
  view.share = view.low = view.high = share.share;
  if (share.evidence == records::ShareEvidence::kPredicted) {
    view.low = share.low;
    view.high = share.high;
    view.from = choice.results[static_cast<std::size_t>(share.from)].name.c_str();
    view.common = share.common;
  }
  return Fill(out, view);
}

Status CheckDevice(const tw_device_choice& choice, std::size_t device) {
  if (device < choice.results.size()) return {};
  return InvalidArgument("device " + std::to_string(device) + ", there are " +
                         std::to_string(choice.results.size()));
}

Status ShareAt(const tw_device_choice* handle, std::size_t device, tw_share* out) {
  TW_ASSIGN_OR_RETURN(const auto choice, Choices::Table().Get(handle, "choice"));
  TW_RETURN_IF_ERROR(CheckDevice(*choice, device));
  if (choice->choice.measured.empty()) {
    return NotFound("no config that works was measured on all devices");
  }
  return FillShare(*choice, choice->choice.measured.front().shares[device], device, out);
}

Status TransferAt(const tw_device_choice* handle, std::size_t of, std::size_t on, tw_share* out) {
  TW_ASSIGN_OR_RETURN(const auto choice, Choices::Table().Get(handle, "choice"));
  TW_RETURN_IF_ERROR(CheckDevice(*choice, of));
  TW_RETURN_IF_ERROR(CheckDevice(*choice, on));
  const int best = choice->table.BestOn(of);
  if (best < 0) return NotFound(choice->results[of].name + ": no successful record of the task");
  return FillShare(*choice, choice->table.ShareOf(static_cast<std::size_t>(best), on), on, out);
}

}  // namespace
}  // namespace tilewright::capi

extern "C" {

tw_code tw_query_devices(tw_catalog* catalog, const tw_target* target, const char* key,
                         const char* const* devices, size_t device_count, int32_t by,
                         tw_device_choice** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::Choose(catalog, target, key, devices, device_count, by, out);
  });
}

void tw_device_choice_free(tw_device_choice* choice) noexcept {
  const tilewright::capi::CallScope call;
  tilewright::capi::Choices::Table().Remove(choice);
}

const char* tw_device_choice_config(const tw_device_choice* choice) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Choices::Table().Find(choice);
  return found != nullptr ? found->config.c_str() : "";
}

const char* tw_device_choice_template(const tw_device_choice* choice) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Choices::Table().Find(choice);
  return found != nullptr ? found->key.c_str() : "";
}

double tw_device_choice_score(const tw_device_choice* choice) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Choices::Table().Find(choice);
  if (found == nullptr || found->choice.measured.empty()) return 0;
  return found->choice.measured.front().score;
}

size_t tw_device_choice_count(const tw_device_choice* choice) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Choices::Table().Find(choice);
  return found != nullptr ? found->results.size() : 0;
}

tw_code tw_device_choice_share(const tw_device_choice* choice, size_t device, tw_share* out,
                               tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::ShareAt(choice, device, out);
  });
}

tw_code tw_device_choice_transfer(const tw_device_choice* choice, size_t of, size_t on,
                                  tw_share* out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::TransferAt(choice, of, on, out);
  });
}

tw_code tw_device_choice_json(const tw_device_choice* choice, char* buffer, size_t capacity,
                              size_t* needed, tw_error* error) noexcept {
  std::string text;
  const tw_code code = tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    const tilewright::capi::CallScope call;
    TW_ASSIGN_OR_RETURN(const auto found, tilewright::capi::Choices::Table().Get(choice, "choice"));
    text = tilewright::DumpJson(
        tilewright::records::ChoiceJson(found->table, found->results, found->by, found->choice));
    return {};
  });
  if (code != TW_OK) return code;
  return tilewright::capi::WriteText(text, buffer, capacity, needed, error);
}

}  // extern "C"
