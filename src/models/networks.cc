// Convolutional topologies of the papers (layer names as value names), and the table of all
// networks.

#include <algorithm>
#include <array>
#include <string_view>

#include "src/models/conv_net_writer.h"
#include "src/models/encoder.h"

namespace tilewright {
namespace {

constexpr std::int64_t kClasses = 1000;

std::string Classify(ConvNetWriter& writer, const FeatureMap& features, std::int64_t batch) {
  const FeatureMap pooled = writer.GlobalPool("pool", features);
  return writer.Finish(writer.Dense("fc", pooled, kClasses).name, {batch, kClasses});
}

FeatureMap ResnetStem(ConvNetWriter& writer) {
  const FeatureMap conv =
      writer.Conv("conv0", writer.Input(), 64, {.kernel = 7, .stride = 2, .pad = 3});
  return writer.MaxPool("pool0", conv, 3, 2, 1);
}

// Source: He et al., Deep Residual Learning (2015), 18 layers: two 3x3 convolutions a block.
std::string Resnet18(ConvNetWriter& writer, std::int64_t batch) {
  FeatureMap value = ResnetStem(writer);
  std::int64_t channels = 64;
  for (int stage = 1; stage <= 4; ++stage, channels *= 2) {
    for (int unit = 1; unit <= 2; ++unit) {
      const std::string name = "stage" + std::to_string(stage) + "_unit" + std::to_string(unit);
      const std::int64_t stride = stage > 1 && unit == 1 ? 2 : 1;
      const FeatureMap first =
          writer.Conv(name + "_conv1", value, channels, {.kernel = 3, .stride = stride, .pad = 1});
      const FeatureMap second =
          writer.Conv(name + "_conv2", first, channels,
                      {.kernel = 3, .pad = 1, .activation = Activation::kNone, .residual = true});
      if (stride != 1) {
        value = writer.Conv(name + "_shortcut", value, channels,
                            {.stride = stride, .activation = Activation::kNone});
      }
      value = writer.Add(name + "_add", value, second, Activation::kRelu);
    }
  }
  return Classify(writer, value, batch);
}

// Same source, 50 layers: 1x1, 3x3, 1x1; the first 1x1 of a stage has the stride.
std::string Resnet50(ConvNetWriter& writer, std::int64_t batch) {
  constexpr std::array<int, 4> kUnits = {3, 4, 6, 3};
  FeatureMap value = ResnetStem(writer);
  std::int64_t channels = 64;
  for (int stage = 1; stage <= 4; ++stage, channels *= 2) {
    for (int unit = 1; unit <= kUnits[static_cast<std::size_t>(stage - 1)]; ++unit) {
      const std::string name = "stage" + std::to_string(stage) + "_unit" + std::to_string(unit);
      const std::int64_t stride = stage > 1 && unit == 1 ? 2 : 1;
      const FeatureMap first = writer.Conv(name + "_conv1", value, channels, {.stride = stride});
      const FeatureMap second =
          writer.Conv(name + "_conv2", first, channels, {.kernel = 3, .pad = 1});
      const FeatureMap third = writer.Conv(name + "_conv3", second, 4 * channels,
                                           {.activation = Activation::kNone, .residual = true});
      if (unit == 1) {
        value = writer.Conv(name + "_shortcut", value, 4 * channels,
                            {.stride = stride, .activation = Activation::kNone});
      }
      value = writer.Add(name + "_add", value, third, Activation::kRelu);
    }
  }
  return Classify(writer, value, batch);
}

// Source: Sandler et al., MobileNetV2 (2018), table 2.
std::string MobilenetV2(ConvNetWriter& writer, std::int64_t batch) {
  struct Stage {
    std::int64_t expansion, channels, repeats, stride;
  };
  constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                             {6, 24, 2, 2},
                                             {6, 32, 3, 2},
                                             {6, 64, 4, 2},
                                             {6, 96, 3, 1},
                                             {6, 160, 3, 2},
                                             {6, 320, 1, 1}}};
  constexpr Activation kRelu6 = Activation::kRelu6;
  FeatureMap value = writer.Conv("conv0", writer.Input(), 32,
                                 {.kernel = 3, .stride = 2, .pad = 1, .activation = kRelu6});
  int block = 0;
  for (const Stage& stage : kStages) {
    for (std::int64_t repeat = 0; repeat < stage.repeats; ++repeat) {
      const std::string name = "block" + std::to_string(++block);
      const std::int64_t stride = repeat == 0 ? stage.stride : 1;
      const bool residual = stride == 1 && value.channels == stage.channels;
      FeatureMap hidden = value;
      if (stage.expansion != 1) {
        hidden = writer.Conv(name + "_expand", value, value.channels * stage.expansion,
                             {.activation = kRelu6});
      }
      hidden = writer.Conv(name + "_depthwise", hidden, hidden.channels,
                           {.kernel = 3,
                            .stride = stride,
                            .pad = 1,
                            .groups = hidden.channels,
                            .activation = kRelu6});
      hidden = writer.Conv(name + "_project", hidden, stage.channels,
                           {.activation = Activation::kNone, .residual = residual});
      value = residual ? writer.Add(name + "_add", value, hidden, Activation::kNone) : hidden;
    }
  }
  value = writer.Conv("conv_last", value, 1280, {.activation = kRelu6});
  return Classify(writer, value, batch);
}

// Source: Iandola et al., SqueezeNet (2016), version 1.1 of its authors' repository.
std::string Squeezenet(ConvNetWriter& writer, std::int64_t batch) {
  constexpr std::array<std::int64_t, 8> kSqueeze = {16, 16, 32, 32, 48, 48, 64, 64};
  FeatureMap value =
      writer.Conv("conv1", writer.Input(), 64, {.kernel = 3, .stride = 2, .bias = true});
  value = writer.MaxPool("pool1", value, 3, 2, 0);
  for (std::size_t i = 0; i < kSqueeze.size(); ++i) {
    const std::string name = "fire" + std::to_string(i + 2);
    if (i == 2 || i == 4) value = writer.MaxPool(name + "_pool", value, 3, 2, 0);
    const FeatureMap squeezed = writer.Conv(name + "_squeeze", value, kSqueeze[i], {.bias = true});
    const FeatureMap one =
        writer.Conv(name + "_expand1x1", squeezed, 4 * kSqueeze[i], {.bias = true});
    const FeatureMap three = writer.Conv(name + "_expand3x3", squeezed, 4 * kSqueeze[i],
                                         {.kernel = 3, .pad = 1, .bias = true});
    value = writer.Concat(name, one, three);
  }
  value = writer.Conv("conv10", value, kClasses, {.bias = true});
  value = writer.Softmax("softmax", writer.GlobalPool("pool10", value));
  return writer.Finish(value.name, {batch, kClasses, 1, 1});
}

template <auto kTopology>
std::string WriteConvNet(std::string_view name, const ModelOptions& options) {
  ConvNetWriter writer(name, options);
  return kTopology(writer, options.batch);
}

struct ModelEntry {
  std::string_view name;
  std::string (*write)(std::string_view name, const ModelOptions& options);
  std::int64_t layers = 0;  ///< maximum of ModelOptions::layers
};

constexpr std::array<ModelEntry, 5> kModels = {
    {{"bert_base_encoder", &WriteBertBaseEncoder, kBertBaseLayers},
     {"mobilenet_v2", &WriteConvNet<&MobilenetV2>},
     {"resnet18_v1", &WriteConvNet<&Resnet18>},
     {"resnet50_v1", &WriteConvNet<&Resnet50>},
     {"squeezenet1_1", &WriteConvNet<&Squeezenet>}}};
constexpr auto kModelNames = [] {
  std::array<std::string_view, kModels.size()> names;
  std::ranges::transform(kModels, names.begin(), &ModelEntry::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> ModelNames() { return kModelNames; }

Result<std::string> MakeModelOnnx(std::string_view name, const ModelOptions& options) {
  const auto model = std::ranges::find(kModels, name, &ModelEntry::name);
  if (model == kModels.end()) {
    std::string known;
    for (std::string_view other : kModelNames)
      known += (known.empty() ? "" : ", ") + std::string(other);
    return NotFound("no built-in model " + std::string(name) + ", expected one of " + known);
  }
  if (options.batch < 1 || options.batch > 1024) {
    return InvalidArgument("batch is " + std::to_string(options.batch) + ", expected 1 to 1024");
  }
  if (options.int8 && options.float16) {
    return InvalidArgument("int8 and float16, expected one of them");
  }
  if (options.layers != 0 && model->layers == 0) {
    return InvalidArgument("layers is " + std::to_string(options.layers) + ", but " +
                           std::string(name) + " has a fixed number of them");
  }
  if (options.layers < 0 || options.layers > model->layers) {
    return InvalidArgument("layers is " + std::to_string(options.layers) + ", expected 0 to " +
                           std::to_string(model->layers));
  }
  return model->write(name, options);
}

}  // namespace tilewright
