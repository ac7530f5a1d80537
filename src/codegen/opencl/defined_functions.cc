#include "src/codegen/opencl/defined_functions.h"

#include <algorithm>

#include "src/base/status.h"

namespace tilewright::opencl {
namespace {

struct Row {
  std::string_view name;
  const char* text;
};

/// In the order of the text: functions come after those that they call.
constexpr Row kDefinedFunctions[] = {
    {"tw_floordiv",
     "inline int tw_floordiv(int a, int b) { return a / b - (a % b != 0 && (a % b < 0) != (b < "
     "0)); "
     "}\n"},
    {"tw_floormod",
     "inline int tw_floormod(int a, int b) { return a % b + (a % b != 0 && (a % b < 0) != (b < 0) "
     "? "
     "b : 0); }\n"},
    {"tw_floordiv_long",
     "inline long tw_floordiv_long(long a, long b) { return a / b - (a % b != 0 && (a % b < 0) != "
     "(b "
     "< 0)); }\n"},
    {"tw_floormod_long",
     "inline long tw_floormod_long(long a, long b) { return a % b + (a % b != 0 && (a % b < 0) != "
     "(b "
     "< 0) ? b : 0); }\n"},
    // NaN if an operand is NaN, unlike fmin and fmax.
    {"tw_min", "inline float tw_min(float a, float b) { return a < b || a != a ? a : b; }\n"},
    {"tw_max", "inline float tw_max(float a, float b) { return a > b || a != a ? a : b; }\n"},
    {"tw_min_double",
     "inline double tw_min_double(double a, double b) { return a < b || a != a ? a : b; }\n"},
    {"tw_max_double",
     "inline double tw_max_double(double a, double b) { return a > b || a != a ? a : b; }\n"},
    {"tw_half",
     "// Rounds to float16.\n"
     "inline float tw_half(float x) {\n"
     "  ushort bits;\n"
     "  vstore_half_rte(x, 0, (half*)&bits);\n"
     "  return vload_half(0, (const half*)&bits);\n"
     "}\n"},
    {"tw_half_double",
     "inline double tw_half_double(double x) {\n"
     "  ushort bits;\n"
     "  vstore_half_rte(x, 0, (half*)&bits);\n"
     "  return vload_half(0, (const half*)&bits);\n"
     "}\n"},
    {"tw_dot4_ss",
     "inline int tw_dot4_ss(char4 a, char4 b, int sum) {\n"
     "  return (int)((uint)sum + (uint)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w));\n"
     "}\n"},
    {"tw_dot4_us",
     "inline int tw_dot4_us(uchar4 a, char4 b, int sum) {\n"
     "  return (int)((uint)sum + (uint)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w));\n"
     "}\n"},
    {"tw_sampler",
     "// Places outside of an image are read as 0.\n"
     "__constant sampler_t tw_sampler =\n"
     "    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | "
     "CLK_FILTER_NEAREST;\n"},
    {"tw_element",
     "inline float tw_element(float4 texel, int i) {\n"
     "  return i == 0 ? texel.s0 : i == 1 ? texel.s1 : i == 2 ? "
     "texel.s2 : texel.s3;\n"
     "}\n"},
    {"tw_sigmoid", "inline float tw_sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }\n"},
    {"tw_sigmoid_double",
     "inline double tw_sigmoid_double(double x) { return 1.0 / (1.0 + exp(-x)); }\n"},
    // Without overflow: log(1 + e^x) is x and a rest for large x.
    {"tw_softplus",
     "inline float tw_softplus(float x) { return (x > 0.0f ? x : 0.0f) + log1p(exp(-fabs(x))); "
     "}\n"},
    {"tw_softplus_double",
     "inline double tw_softplus_double(double x) { return (x > 0.0 ? x : 0.0) + "
     "log1p(exp(-fabs(x))); "
     "}\n"},
};

}  // namespace

std::string DefinedFunctions::Use(std::string_view name) {
  const auto* found = std::ranges::find(kDefinedFunctions, name, &Row::name);
  TW_CHECK(found != std::end(kDefinedFunctions), name);
  used_.insert(found->name);
  return std::string(name);
}

std::string DefinedFunctions::Text() const {
  std::string text;
  if (doubles_) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n\n";
  for (const Row& row : kDefinedFunctions) {
    if (used_.contains(row.name)) text += row.text;
  }
  if (!used_.empty()) text += "\n";
  return text;
}

}  // namespace tilewright::opencl
