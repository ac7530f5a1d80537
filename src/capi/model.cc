// C functions of compiled models.

#include <memory>
#include <vector>

#include "src/capi/boundary.h"
#include "src/runtime/loaded_model.h"

struct tw_model {
  tilewright::LoadedModel loaded;
};

namespace tilewright::capi {
namespace {

Status Open(const char* path, tw_model** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the model is null");
  *out = nullptr;
  if (path == nullptr || *path == '\0') return InvalidArgument("the model path is null or empty");
  TW_ASSIGN_OR_RETURN(auto loaded, LoadModel(path));
  *out = std::make_unique<tw_model>(tw_model{std::move(loaded)}).release();
  return {};
}

Status Describe(const TwValue* values, std::int64_t count, std::size_t index, const char* what,
                tw_tensor_info* out) {
  if (index >= static_cast<std::size_t>(count)) {
    return InvalidArgument(std::string(what) + " " + std::to_string(index) + ", the model has " +
                           std::to_string(count));
  }
  const TwValue& value = values[index];
  tw_tensor_info info = TW_TENSOR_INFO_INIT;
  info.rank = static_cast<std::uint32_t>(value.rank);
  info.name = value.name;
  info.dtype = value.dtype;
  info.shape = value.shape;
  info.bytes = static_cast<std::uint64_t>(value.bytes);
  return Fill(out, info);
}

/// Errors: kInvalidArgument unless there is one buffer of the right size per value.
Status CheckBuffers(const tw_buffer* buffers, std::size_t given, const TwValue* values,
                    std::int64_t count, const char* what) {
  if (given != static_cast<std::size_t>(count) || (buffers == nullptr && given > 0)) {
    return InvalidArgument(std::to_string(buffers == nullptr ? 0 : given) + " " + what +
                           "s, expected " + std::to_string(count));
  }
  for (std::size_t i = 0; i < given; ++i) {
    const std::string name = std::string(what) + " '" + values[i].name + "'";
    if (buffers[i].data == nullptr) return InvalidArgument(name + ": no memory given");
    if (buffers[i].bytes != static_cast<std::uint64_t>(values[i].bytes)) {
      return InvalidArgument(name + ": " + std::to_string(buffers[i].bytes) + " bytes, expected " +
                             std::to_string(values[i].bytes));
    }
  }
  return {};
}

struct Buffers {
  const tw_buffer* first;
  std::size_t count;
};

Status Run(tw_model* model, Buffers inputs, Buffers outputs) {
  if (model == nullptr) return InvalidArgument("the model is null");
  const TwModel& table = model->loaded.model();
  TW_RETURN_IF_ERROR(
      CheckBuffers(inputs.first, inputs.count, table.inputs, table.input_count, "input"));
  TW_RETURN_IF_ERROR(
      CheckBuffers(outputs.first, outputs.count, table.outputs, table.output_count, "output"));
  std::vector<const void*> from;
  for (std::size_t i = 0; i < inputs.count; ++i) from.push_back(inputs.first[i].data);
  std::vector<void*> to;
  for (std::size_t i = 0; i < outputs.count; ++i) to.push_back(outputs.first[i].data);
  from.push_back(nullptr);  // so that data() is not null for a model without inputs
  to.push_back(nullptr);
  return ModelStatus(model->loaded,
                     model->loaded.functions.run(&table, from.data(), to.data(), nullptr, nullptr));
}

}  // namespace
}  // namespace tilewright::capi

extern "C" {

tw_code tw_model_open(const char* path, tw_model** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] { return tilewright::capi::Open(path, out); });
}

void tw_model_free(tw_model* model) noexcept {
  const std::unique_ptr<tw_model> gone(model);
  if (model != nullptr) model->loaded.functions.release(model->loaded.functions.model);
}

const char* tw_model_name(const tw_model* model) noexcept {
  return model != nullptr ? model->loaded.model().name : "";
}

const char* tw_model_target(const tw_model* model) noexcept {
  return model != nullptr ? model->loaded.model().target : "";
}

size_t tw_model_input_count(const tw_model* model) noexcept {
  return model != nullptr ? static_cast<size_t>(model->loaded.model().input_count) : 0;
}

size_t tw_model_output_count(const tw_model* model) noexcept {
  return model != nullptr ? static_cast<size_t>(model->loaded.model().output_count) : 0;
}

tw_code tw_model_input(const tw_model* model, size_t index, tw_tensor_info* out,
                       tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    if (model == nullptr) return tilewright::InvalidArgument("the model is null");
    const TwModel& table = model->loaded.model();
    return tilewright::capi::Describe(table.inputs, table.input_count, index, "input", out);
  });
}

tw_code tw_model_output(const tw_model* model, size_t index, tw_tensor_info* out,
                        tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    if (model == nullptr) return tilewright::InvalidArgument("the model is null");
    const TwModel& table = model->loaded.model();
    return tilewright::capi::Describe(table.outputs, table.output_count, index, "output", out);
  });
}

tw_code tw_model_set_threads(tw_model* model, int32_t threads, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    if (model == nullptr) return tilewright::InvalidArgument("the model is null");
    if (threads < 1) {
      return tilewright::InvalidArgument(std::to_string(threads) + " threads, expected at least 1");
    }
    const auto& functions = model->loaded.functions;
    return tilewright::ModelStatus(model->loaded, functions.set_threads(functions.model, threads));
  });
}

tw_code tw_model_set_size(tw_model* model, const char* dimension, int64_t size,
                          tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    if (model == nullptr) return tilewright::InvalidArgument("the model is null");
    if (dimension == nullptr) return tilewright::InvalidArgument("the dimension is null");
    return tilewright::SetModelSize(model->loaded, dimension, size);
  });
}

tw_code tw_model_run(tw_model* model, const tw_buffer* inputs, size_t input_count,
                     const tw_buffer* outputs, size_t output_count, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    return tilewright::capi::Run(model, {inputs, input_count}, {outputs, output_count});
  });
}

}  // extern "C"
