// Faulty plugins: each ROUGH_ macro selects one fault at load. Without a macro, the strategies and
// the template break their contracts.

#include <cstdint>
#include <stdexcept>

#include "include/tilewright/plugin.h"

namespace {

int place = 0;

void* Create(const tw_search_space*, std::uint64_t) { return &place; }
void* CreateNothing(const tw_search_space*, std::uint64_t) { return nullptr; }
void Tell(void*, const tw_result*, std::int32_t) {}
void Destroy(void*) {}

template <std::int32_t kSpace, std::int64_t kIndex>
std::int32_t Always(void*, tw_point* points, std::int32_t) {
  points[0] = {kSpace, kIndex};
  return 1;
}
std::int32_t Many(void*, tw_point*, std::int32_t count) { return count + 1; }
std::int32_t Fail(void*, tw_point*, std::int32_t) { return TW_PLUGIN_NONE; }
std::int32_t Throw(void*, tw_point*, std::int32_t) { throw std::runtime_error("a fit"); }

constexpr tw_strategy Of(const char* key, decltype(tw_strategy::ask) ask,
                         decltype(tw_strategy::create) create = &Create) {
  return {sizeof(tw_strategy), key, "wrong", create, ask, &Tell, &Destroy};
}
const tw_strategy kFar = Of("rough/far", &Always<99, 0>);
const tw_strategy kBeyond = Of("rough/beyond", &Always<0, INT64_MAX>);
const tw_strategy kTwice = Of("rough/twice", &Always<0, 3>);
const tw_strategy kMany = Of("rough/many", &Many);
const tw_strategy kFails = Of("rough/fails", &Fail);
const tw_strategy kThrows = Of("rough/throws", &Throw);
const tw_strategy kNothing = Of("rough/nothing", &Fail, &CreateNothing);

const char* Serves(const tw_task*) { return nullptr; }
void Space(const tw_task*, tw_space* space, tw_schedule*, const tw_host* tw) {
  const std::int64_t ways[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  tw->knob_integer(space, "way", ways, 10);
}
/// Every one of these calls is rejected.
void Apply(const tw_task*, tw_config* config, tw_schedule* s, const tw_host* tw) {
  const tw_stage sum = tw->stage(s, "reduce");
  const tw_loop axis = tw->spatial(s, sum, 0);
  switch (tw->integer(config, "way")) {
    case 0:
      return tw->refuse(s, "not today");
    case 1:
      return tw->parallel(s, 77, axis);
    case 2:
      return tw->vectorize(s, sum, -5);
    case 3:
      return tw->split(s, sum, axis, 0, 0, nullptr, nullptr);
    case 4:
      return tw->bind(s, sum, axis, 1000);
    case 5:
      return tw->reorder(s, sum, nullptr, 3);
    case 6:
      return tw->compute_at(s, sum, -1, 400);
    case 7:
      return static_cast<void>(tw->item(config, "way", 0));
    case 8:
      return tw->set_memory(s, sum, 7);
    default:
      throw 1;
  }
}

#ifdef ROUGH_LACKS
constexpr auto kApply = decltype(&Apply)();
#else
constexpr auto kApply = &Apply;
#endif
const tw_template kIllegal = {
    sizeof(tw_template), 1, "rough/illegal", "llvm", &Serves, &Space, kApply, nullptr};

#ifdef ROUGH_SHORT
const tw_strategy kPart = {8, "rough/part", "short", nullptr, nullptr, nullptr, nullptr};
#elif defined(ROUGH_KEY)
const tw_strategy kPart = Of("other/part", &Fail);
#elif defined(ROUGH_FORM)
const tw_strategy kPart = Of("rough/a part", &Fail);
#else
const tw_strategy kPart = Of("rough/part", &Fail);
#endif

const tw_strategy* const kStrategies[] = {&kFar,    &kBeyond,  &kTwice, &kMany, &kFails,
                                          &kThrows, &kNothing, &kPart,  nullptr};
const tw_template* const kTemplates[] = {&kIllegal, nullptr};
#ifdef ROUGH_VERSION
constexpr std::uint32_t kVersion = TW_PLUGIN_VERSION + 1;
#else
constexpr std::uint32_t kVersion = TW_PLUGIN_VERSION;
#endif
const tw_plugin kPlugin = {sizeof(tw_plugin), kVersion, "rough", kStrategies, kTemplates};

}  // namespace

extern "C" const tw_plugin* tw_plugin_main(void) {
#ifdef ROUGH_NULL
  return nullptr;
#else
  return &kPlugin;
#endif
}
