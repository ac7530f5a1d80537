// C functions of kernels: the tree of KernelJson.

#include <cmath>
#include <memory>
#include <string>

#include "src/base/json.h"
#include "src/capi/answer.h"
#include "src/capi/boundary.h"
#include "src/templates/text/kernel_json.h"

struct tw_kernel {
  tilewright::Json root;
};

namespace tilewright::capi {
namespace {

// Longer than any epilogue; its parser has a separate limit.
constexpr std::size_t kMaxEpilogueText = 1 << 16;

Result<Epilogue> EpilogueOf(const tw_kernel_options* given) {
  if (given == nullptr) return Epilogue();
  if (given->struct_size < sizeof *given) {
    return InvalidArgument("options of struct_size " + std::to_string(given->struct_size) +
                           ", expected at least " + std::to_string(sizeof *given));
  }
  if (given->epilogue == nullptr) return Epilogue();
  const std::string_view text(given->epilogue, ::strnlen(given->epilogue, kMaxEpilogueText));
  if (text.size() == kMaxEpilogueText) return InvalidArgument("an epilogue of 65536 bytes or more");
  auto epilogue = Epilogue::Parse(text);
  if (!epilogue.ok()) return epilogue.status().WithContext("epilogue");
  return epilogue;
}

Status MakeKernel(const tw_answer* answer, const tw_kernel_options* options, tw_kernel** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the kernel is null");
  *out = nullptr;
  if (answer == nullptr) return InvalidArgument("the answer is null");
  TW_ASSIGN_OR_RETURN(const auto epilogue, EpilogueOf(options));
  const Candidate* candidate = answer->reply.candidate();
  if (candidate == nullptr || answer->templates == nullptr) {
    return NotFound("a miss has no kernel");
  }
  if (!answer->asked.has_value()) {
    return Unsupported("no template of this library builds the task " + answer->workload);
  }
  TW_ASSIGN_OR_RETURN(const TemplateEntry* entry, EntryToBuild(*answer->templates, *candidate));
  TW_ASSIGN_OR_RETURN(const auto target, Target::Parse(answer->target));
  auto made = std::make_unique<tw_kernel>();
  TW_ASSIGN_OR_RETURN(made->root,
                      KernelJson(*entry, *answer->asked, epilogue, target, candidate->config));
  *out = made.release();
  return {};
}

/// Nodes are the values of the tree.
const Json* ValueOf(const tw_node* node) { return reinterpret_cast<const Json*>(node); }
const tw_node* NodeOf(const Json* value) { return reinterpret_cast<const tw_node*>(value); }

std::int32_t TypeOf(const Json* value) {
  if (value == nullptr) return TW_NODE_NULL;
  switch (value->type()) {
    case Json::value_t::boolean:
      return TW_NODE_BOOL;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return TW_NODE_INTEGER;
    case Json::value_t::number_float:
      return TW_NODE_NUMBER;
    case Json::value_t::string:
      return TW_NODE_TEXT;
    case Json::value_t::array:
      return TW_NODE_LIST;
    case Json::value_t::object:
      return TW_NODE_OBJECT;
    default:
      return TW_NODE_NULL;
  }
}

const Json* ItemOf(const Json* value, std::size_t index) {
  if (value == nullptr || !value->is_structured() || index >= value->size()) return nullptr;
  if (value->is_array()) return &(*value)[index];
  return &std::next(value->begin(), static_cast<std::ptrdiff_t>(index)).value();
}

/// Returns the number rounded towards zero, within the range of the type.
std::int64_t IntegerOf(double number) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (std::isnan(number)) return 0;
  if (number >= kEnd) return INT64_MAX;
  return number < -kEnd ? INT64_MIN : static_cast<std::int64_t>(number);
}

}  // namespace
}  // namespace tilewright::capi

extern "C" {

tw_code tw_answer_kernel(const tw_answer* answer, const tw_kernel_options* options, tw_kernel** out,
                         tw_error* error) noexcept {
  return tilewright::capi::Guarded(
      error, [&] { return tilewright::capi::MakeKernel(answer, options, out); });
}

void tw_kernel_free(tw_kernel* kernel) noexcept { const std::unique_ptr<tw_kernel> gone(kernel); }

tw_code tw_kernel_json(const tw_kernel* kernel, char* buffer, size_t capacity, size_t* needed,
                       tw_error* error) noexcept {
  std::string text;
  const tw_code code = tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    if (kernel == nullptr) return tilewright::InvalidArgument("the kernel is null");
    text = tilewright::DumpJson(kernel->root);
    return {};
  });
  if (code != TW_OK) return code;
  return tilewright::capi::WriteText(text, buffer, capacity, needed, error);
}

const tw_node* tw_kernel_root(const tw_kernel* kernel) noexcept {
  return kernel != nullptr ? tilewright::capi::NodeOf(&kernel->root) : nullptr;
}

int32_t tw_node_type(const tw_node* node) noexcept {
  return tilewright::capi::TypeOf(tilewright::capi::ValueOf(node));
}

size_t tw_node_size(const tw_node* node) noexcept {
  const auto* value = tilewright::capi::ValueOf(node);
  return value != nullptr && value->is_structured() ? value->size() : 0;
}

const tw_node* tw_node_at(const tw_node* node, size_t index) noexcept {
  return tilewright::capi::NodeOf(tilewright::capi::ItemOf(tilewright::capi::ValueOf(node), index));
}

const char* tw_node_name(const tw_node* node, size_t index) noexcept {
  const auto* value = tilewright::capi::ValueOf(node);
  if (value == nullptr || !value->is_object() || index >= value->size()) return nullptr;
  return std::next(value->begin(), static_cast<std::ptrdiff_t>(index)).key().c_str();
}

const tw_node* tw_node_get(const tw_node* node, const char* name) noexcept {
  const auto* value = tilewright::capi::ValueOf(node);
  if (value == nullptr || name == nullptr || !value->is_object()) return nullptr;
  for (auto member = value->begin(); member != value->end(); ++member) {
    if (member.key() == name) return tilewright::capi::NodeOf(&member.value());
  }
  return nullptr;
}

int64_t tw_node_integer(const tw_node* node) noexcept {
  const auto* value = tilewright::capi::ValueOf(node);
  if (value == nullptr) return 0;
  if (value->is_boolean()) return value->get<bool>() ? 1 : 0;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  return value->is_number() ? tilewright::capi::IntegerOf(value->get<double>()) : 0;
}

double tw_node_number(const tw_node* node) noexcept {
  const auto* value = tilewright::capi::ValueOf(node);
  return value != nullptr && value->is_number() ? value->get<double>() : std::nan("");
}

const char* tw_node_text(const tw_node* node) noexcept {
  const auto* value = tilewright::capi::ValueOf(node);
  return value != nullptr && value->is_string() ? value->get_ptr<const std::string*>()->c_str()
                                                : "";
}

}  // extern "C"
