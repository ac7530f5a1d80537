// Kernels as JSON: the loops, read back, pack the operands as the library does and compute the
// workload.

#include "src/templates/text/kernel_json.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/limits.h"
#include "src/tensor/compute/kernel_signature.h"
#include "src/tensor/compute/packing.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/support/interpreter.h"
#include "tests/templates/samples.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

/// Reader of the loops of a kernel's JSON, by the description in tilewright.h.
class LoopsReader {
 public:
  Program Read(const Json& loops) {
    Program program;
    for (const auto& [name, buffer] : loops["buffers"].items()) {
      Scope scope = Scope::kGlobal;
      if (buffer["scope"] == "local") scope = Scope::kLocal;
      if (buffer["scope"] == "shared") scope = Scope::kShared;
      buffers_[name] = MakeBuffer(name, *ParseDataType(buffer["dtype"].get<std::string>()),
                                  buffer["shape"], scope);
    }
    program.name = loops["name"];
    for (const char* list : {"inputs", "outputs"}) {
      for (const Json& name : loops[list]) program.parameters.push_back(buffers_.at(name));
    }
    program.output_count = static_cast<int>(loops["outputs"].size());
    program.body = Body(loops["body"]);
    return program;
  }

 private:
  Stmt Body(const Json& list) {
    std::vector<Stmt> body;
    for (const Json& one : list) body.push_back(Statement(one));
    return MakeBlock(std::move(body));
  }

  Stmt Statement(const Json& s) {
    const std::string kind = s["stmt"];
    if (kind == "for") {
      const std::string name = s["var"];
      const Expr outer = vars_[name];
      const Expr var = vars_[name] = MakeVar(name);
      Stmt loop = MakeFor(var, s["extent"], LoopKind::kSerial, Body(s["body"]));
      vars_[name] = outer;
      return loop;
    }
    if (kind == "if") return MakeIf(Value(s["condition"]), Body(s["then"]), Body(s["else"]));
    if (kind == "allocate") return MakeAllocate(buffers_.at(s["buffer"]), Body(s["body"]));
    if (kind == "store") {
      return MakeStore(buffers_.at(s["buffer"]), Values(s["indices"]), Value(s["value"]));
    }
    if (kind == "prefetch") return MakeBlock({});
    EXPECT_TRUE(kind == "intrinsic" || kind == "copy") << kind;
    std::vector<Region> regions;
    for (const Json& region : s["regions"]) {
      regions.push_back({buffers_.at(region["buffer"]), Values(region["min"]), region["extent"]});
    }
    if (kind == "intrinsic") return MakeIntrinsic(s["name"], std::move(regions));
    return MakeCopy(regions[0], regions[1], s.contains("padding") ? Value(s["padding"]) : Expr());
  }

  std::vector<Expr> Values(const Json& list) {
    std::vector<Expr> values;
    for (const Json& one : list) values.push_back(Value(one));
    return values;
  }

  static double Number(const Json& value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!value.is_string()) return value;
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    return value == "inf" ? kInfinity : -kInfinity;
  }

  Expr Value(const Json& e) {
    if (e.is_number_integer()) return Expr(e.get<std::int64_t>());
    if (e.is_string()) return vars_.at(e);
    const std::string op = e["op"];
    const DataType dtype = *ParseDataType(e["dtype"].get<std::string>());
    if (op == "const") {
      return dtype.is_float() ? MakeFloat(dtype, Number(e["value"])) : MakeInt(dtype, e["value"]);
    }
    if (op == "load") return MakeLoad(buffers_.at(e["buffer"]), Values(e["indices"]));
    std::vector<Expr> args = Values(e["args"]);
    if (op == "call") return MakeCall(dtype, e["function"], std::move(args));
    if (op == "cast") return MakeCast(dtype, args[0]);
    if (op == "not") return MakeNot(args[0]);
    if (op == "select") return MakeSelect(args[0], args[1], args[2]);
    static const std::map<std::string, ExprKind> kBinary = {{"add", ExprKind::kAdd},
                                                            {"sub", ExprKind::kSub},
                                                            {"mul", ExprKind::kMul},
                                                            {"div", ExprKind::kDiv},
                                                            {"floordiv", ExprKind::kFloorDiv},
                                                            {"floormod", ExprKind::kFloorMod},
                                                            {"min", ExprKind::kMin},
                                                            {"max", ExprKind::kMax},
                                                            {"eq", ExprKind::kEq},
                                                            {"ne", ExprKind::kNe},
                                                            {"lt", ExprKind::kLt},
                                                            {"le", ExprKind::kLe},
                                                            {"and", ExprKind::kAnd},
                                                            {"or", ExprKind::kOr},
                                                            {"shift_left", ExprKind::kShiftLeft},
                                                            {"shift_right", ExprKind::kShiftRight}};
    return MakeBinary(kBinary.at(op), args[0], args[1]);
  }

  std::map<std::string, Buffer> buffers_;
  std::map<std::string, Expr> vars_;
};

/// Kernel of a sample by one template, with its JSON.
struct SampleKernel {
  Workload workload;
  Epilogue epilogue;
  KernelSignature signature;
  Json json;
};

/// Returns the kernel of a config; no value if the config is illegal.
std::optional<SampleKernel> KernelOf(const Sample& sample, const TemplateEntry& entry,
                                     const Target& target, const Config& config) {
  SampleKernel made{*Workload::Parse(sample.workload), *Epilogue::Parse(sample.epilogue), {}, {}};
  auto json = KernelJson(entry, made.workload, made.epilogue, target, config);
  const auto kernel = ApplyTemplate(entry, made.workload, made.epilogue, target, config);
  EXPECT_EQ(json.ok(), kernel.ok());
  if (!json.ok()) return std::nullopt;
  made.json = *std::move(json);
  const auto program = Lower(kernel->schedule, "kernel", LowerLimitsFor(target));
  made.signature = *SignatureOf(made.workload, made.epilogue, kernel->layouts, program->parameters);
  return made;
}

/// Returns seeded tensors of the operands in the workload's layouts, one for each input.
std::vector<Tensor> OwnTensors(const SampleKernel& kernel) {
  std::vector<Tensor> tensors;
  Tensor weight(kernel.workload.has_weight()
                    ? RandomTensor(kernel.workload.weight, 7, kReducedRangeMagnitude)
                    : Tensor());
  for (std::size_t i = 0; i < kernel.signature.inputs().size(); ++i) {
    const ParameterRole role = kernel.signature.parameters[i].role;
    if (role == ParameterRole::kWeight || role == ParameterRole::kCompensation) {
      tensors.push_back(weight.Clone());
      continue;
    }
    const auto packing = PackingOf(kernel.workload, kernel.signature, i);
    tensors.push_back(RandomTensor(packing->own, i + 1));
  }
  return tensors;
}

/// Returns the result of the loops on tensors of the same bytes as its inputs.
Tensor RunLoops(const Json& loops, const std::vector<const Tensor*>& inputs) {
  const Program program = LoopsReader().Read(loops);
  std::vector<Tensor> shaped;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shaped.push_back(inputs[i]->Clone());
    shaped.back().Reshape(program.parameters[i]->shape);
  }
  const std::vector<const Tensor*> pointers = PointersTo(shaped);
  Interpreted done = ExecuteProgram(program, pointers);
  EXPECT_EQ(done.error, "");
  return std::move(done.result);
}

/// Checks the packing of each input against the library; returns the packed tensors.
std::vector<Tensor> CheckPacking(const SampleKernel& kernel, const std::vector<Tensor>& own) {
  std::vector<Tensor> packed;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Json& operand = kernel.json["operands"][i];
    const auto expected = ParameterTensor(kernel.workload, kernel.signature, i, own[i]);
    EXPECT_TRUE(expected.ok()) << expected.status().message();
    if (!expected.ok()) return packed;
    packed.push_back(operand["packing"].is_null() ? own[i].Clone()
                                                  : RunLoops(operand["packing"], {&own[i]}));
    EXPECT_EQ(packed.back().shape(), operand["packed"]["shape"].get<std::vector<std::int64_t>>());
    EXPECT_EQ(packed.back().bytes(), expected->bytes());
    if (packed.back().bytes() == expected->bytes()) {
      EXPECT_EQ(NumbersOf(packed.back()), NumbersOf(*expected)) << operand["name"];
    }
  }
  return packed;
}

class KernelJsonTest : public testing::TestWithParam<Sample> {};

TEST_P(KernelJsonTest, PacksOperandsAsTheLibraryDoes) {
  const Workload workload = *Workload::Parse(GetParam().workload);
  for (const char* text : {"llvm -mcpu=znver4", "llvm -mcpu=haswell"}) {
    const Target target = *Target::Parse(text);
    for (const TemplateEntry* entry : BuiltInTemplates().For(workload, target)) {
      const auto config = entry->default_config(workload, target);
      ASSERT_TRUE(config.ok());
      const auto kernel = KernelOf(GetParam(), *entry, target, *config);
      ASSERT_TRUE(kernel.has_value()) << entry->key;
      SCOPED_TRACE(std::string(entry->key) + " " + text);
      CheckPacking(*kernel, OwnTensors(*kernel));
      EXPECT_EQ(kernel->json["knobs"].size(), config->values.size());
      for (const Json& knob : kernel->json["knobs"]) {
        EXPECT_FALSE(knob.value("description", "").empty()) << knob;
      }
      EXPECT_NE(kernel->json["schedule"].is_null(), kernel->json.contains("no_schedule") == false);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, KernelJsonTest, testing::ValuesIn(kSamples),
                         [](const auto& one) { return one.param.name; });

/// Samples that the interpreter executes in milliseconds.
class KernelJsonLoopsTest : public testing::TestWithParam<Sample> {};

TEST_P(KernelJsonLoopsTest, LoopsComputeTheWorkload) {
  const Workload workload = *Workload::Parse(GetParam().workload);
  // With the templates for Arm.
  const Target target = *Target::Parse("llvm -mcpu=znver4 -device=arm_cpu");
  for (const TemplateEntry* entry : BuiltInTemplates().For(workload, target)) {
    const auto space = entry->define_space(workload, target);
    ASSERT_TRUE(space.ok());
    for (const std::int64_t index : {std::int64_t{0}, space->size() / 3, space->size() - 1}) {
      SCOPED_TRACE(std::string(entry->key) + " #" + std::to_string(index));
      const auto kernel = KernelOf(GetParam(), *entry, target, space->At(index));
      if (!kernel.has_value()) continue;
      const std::vector<Tensor> own = OwnTensors(*kernel);
      const std::vector<Tensor> packed = CheckPacking(*kernel, own);
      Tensor result = RunLoops(kernel->json["loops"], PointersTo(packed));
      const Json& unpack = kernel->json["operands"].back()["packing"];
      if (!unpack.is_null()) result = RunLoops(unpack, {&result});
      std::vector<const Tensor*> operands;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const ParameterRole role = kernel->signature.parameters[i].role;
        const bool of_epilogue = role == ParameterRole::kChannel ||
                                 role == ParameterRole::kBroadcast ||
                                 role == ParameterRole::kTensor;
        if (of_epilogue) operands.push_back(&own[i]);
      }
      const auto expected = EvaluateAnchor(workload, kernel->epilogue, own[0], own[1], operands);
      ASSERT_TRUE(expected.ok()) << expected.status().message();
      EXPECT_THAT(NumbersOf(result),
                  testing::Pointwise(testing::DoubleNear(1e-4), NumbersOf(*expected)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Samples, KernelJsonLoopsTest,
    testing::Values(
        Sample{"Dense", "dense(float32[3,20]MK,float32[18,20]NK)->float32",
               "add(channel:float32);relu"},
        Sample{"DenseU8", "dense(uint8[2,16]MK,int8[18,16]NK)->int32", "add(channel:int32)"},
        Sample{"DenseS8", "dense(int8[2,16]MK,int8[18,16]NK)->int32", ""},
        Sample{"Conv",
               "conv2d(float32[1,4,5,5]NCHW,float32[18,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
               "add(channel:float32);add(tensor:float32)"},
        Sample{
            "Depthwise",
            "depthwise_conv2d(float32[1,18,5,4]NCHW,float32[18,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g18)->"
            "float32",
            ""}),
    [](const auto& one) { return one.param.name; });

TEST(KernelJson, DescribesAKernelForAGpu) {
  const Workload workload = *Workload::Parse(
      "conv2d(float32[1,32,14,14]NCHW,float32[64,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const Target target = *Target::Parse("cuda -arch=sm_75");
  const TemplateEntry* entry = BuiltInTemplates().For(workload, target).front();
  const auto json =
      KernelJson(*entry, workload, Epilogue(), target, *entry->default_config(workload, target));
  ASSERT_TRUE(json.ok()) << json.status().message();
  const std::string text = DumpJson((*json)["loops"]);
  EXPECT_THAT(text, HasSubstr("\"kind\":\"block."));
  EXPECT_THAT(text, HasSubstr("\"kind\":\"thread.x\""));
}

TEST(KernelJson, GivesNumbersOfElementsOfABlockedLayout) {
  const Workload workload = *Workload::Parse("dense(float32[8,24]MK,float32[40,24]NK)->float32");
  const Target target = *Target::Parse("llvm -mcpu=haswell");
  const TemplateEntry* entry = BuiltInTemplates().Find("dense_packed.cpu");
  const auto json =
      KernelJson(*entry, workload, Epilogue(), target, *entry->default_config(workload, target));
  ASSERT_TRUE(json.ok()) << json.status().message();
  const Json& packed = (*json)["operands"][1]["packed"];
  EXPECT_EQ(packed["layout"], "NK24n");
  EXPECT_EQ(packed["dims"].dump(), R"([{"name":"N","size":2,"stride":576,"step":24},)"
                                   R"({"name":"K","size":24,"stride":24,"step":1},)"
                                   R"({"name":"N","size":24,"stride":1,"step":1}])");
  EXPECT_EQ(packed["padding_elements"], 192);
}

}  // namespace
}  // namespace tilewright
