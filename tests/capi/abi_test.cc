// ABI of programs that were compiled with the header of 1.0.0: constants and offsets of members
// (64-bit; packaging/libtilewright1.symbols has the rest of the interface). New items get new
// lines. Existing lines do not change while the library is libtilewright.so.1 (docs/versions.md).

#include <gtest/gtest.h>

#include <cstddef>

#include "include/tilewright/tilewright.h"

namespace tilewright {
namespace {

TEST(AbiTest, NumbersAreThoseOfTheFirstRelease) {
  EXPECT_EQ(TW_API_VERSION, 2u);  // raised with every addition
  EXPECT_EQ(TW_TOO_SMALL, 8);
  const int codes[] = {TW_OK,      TW_INVALID_ARGUMENT, TW_NOT_FOUND, TW_UNSUPPORTED,
                       TW_CORRUPT, TW_UNAVAILABLE,      TW_INTERNAL,  TW_NO_MEMORY};
  const int kinds[] = {TW_KIND_HIT, TW_KIND_NEAR, TW_KIND_MODEL, TW_KIND_DEFAULT, TW_KIND_MISS};
  const int knobs[] = {TW_KNOB_SPLIT, TW_KNOB_REORDER, TW_KNOB_ANNOTATE, TW_KNOB_OTHER};
  const int values[] = {TW_VALUE_INTEGERS, TW_VALUE_STRINGS, TW_VALUE_INTEGER, TW_VALUE_BOOL,
                        TW_VALUE_STRING};
  const int rules[] = {TW_RULE_TILEWRIGHT, TW_RULE_AUTOTVM};
  const auto count_up = [](const auto& list) {
    int next = 0;
    for (const int number : list) EXPECT_EQ(number, next++);
  };
  count_up(codes);
  count_up(kinds);
  count_up(knobs);
  count_up(values);
  count_up(rules);
  const int nodes[] = {TW_NODE_NULL, TW_NODE_BOOL, TW_NODE_INTEGER, TW_NODE_NUMBER,
                       TW_NODE_TEXT, TW_NODE_LIST, TW_NODE_OBJECT};
  count_up(nodes);
  const int verdicts[] = {TW_VERDICT_OK,      TW_VERDICT_COMPILE,     TW_VERDICT_RUNTIME,
                          TW_VERDICT_TIMEOUT, TW_VERDICT_CORRECTNESS, TW_VERDICT_CONSTRAINTS};
  count_up(verdicts);
  EXPECT_EQ(TW_ACCEPT_HIT, 1);
  EXPECT_EQ(TW_ACCEPT_NEAR, 2);
  EXPECT_EQ(TW_ACCEPT_MODEL, 4);
  EXPECT_EQ(TW_ACCEPT_DEFAULT, 8);
}

TEST(AbiTest, MembersAreWhereTheFirstReleaseHasThem) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "needs pointers of 64 bits";
  EXPECT_EQ(offsetof(tw_error, code), 4u);
  EXPECT_EQ(offsetof(tw_error, message), 8u);
  EXPECT_GE(sizeof(tw_error), 1024u);
  EXPECT_EQ(offsetof(tw_package_options, allow_unsigned), 4u);
  EXPECT_EQ(offsetof(tw_package_options, trusted_keys), 8u);
  EXPECT_EQ(offsetof(tw_query_options, accept), 4u);
  EXPECT_EQ(offsetof(tw_query_options, rule), 8u);
  EXPECT_EQ(offsetof(tw_kernel_options, epilogue), 8u);
  EXPECT_EQ(offsetof(tw_knob, kind), 4u);
  EXPECT_EQ(offsetof(tw_knob, value_type), 8u);
  EXPECT_EQ(offsetof(tw_knob, name), 16u);
  EXPECT_EQ(offsetof(tw_knob, count), 24u);
  EXPECT_EQ(offsetof(tw_knob, integers), 32u);
  EXPECT_EQ(offsetof(tw_knob, strings), 40u);
  EXPECT_EQ(offsetof(tw_knob, text), 48u);
  EXPECT_EQ(offsetof(tw_record, verified), 4u);
  EXPECT_EQ(offsetof(tw_record, id), 8u);
  EXPECT_EQ(offsetof(tw_record, source), 16u);
  EXPECT_EQ(offsetof(tw_record, workload), 24u);
  EXPECT_EQ(offsetof(tw_record, target), 32u);
  EXPECT_EQ(offsetof(tw_record, device), 40u);
  EXPECT_EQ(offsetof(tw_record, device_model), 48u);
  EXPECT_EQ(offsetof(tw_record, epilogue), 56u);
  EXPECT_EQ(offsetof(tw_record, metric), 64u);
  EXPECT_EQ(offsetof(tw_record, value), 72u);
  EXPECT_EQ(offsetof(tw_record, noise), 80u);
  EXPECT_EQ(offsetof(tw_record, measured_unix_seconds), 88u);
  EXPECT_EQ(offsetof(tw_record, codegen_version), 96u);
  EXPECT_EQ(offsetof(tw_record, sample_count), 104u);
  EXPECT_EQ(offsetof(tw_record, samples), 112u);
  EXPECT_EQ(offsetof(tw_tensor_info, rank), 4u);
  EXPECT_EQ(offsetof(tw_tensor_info, name), 8u);
  EXPECT_EQ(offsetof(tw_tensor_info, dtype), 16u);
  EXPECT_EQ(offsetof(tw_tensor_info, shape), 24u);
  EXPECT_EQ(offsetof(tw_tensor_info, bytes), 32u);
  EXPECT_EQ(offsetof(tw_buffer, bytes), 8u);
  EXPECT_EQ(sizeof(tw_buffer), 16u);  // used in arrays: it cannot grow
  EXPECT_EQ(offsetof(tw_tuning_options, warm_start), 4u);
  EXPECT_EQ(offsetof(tw_tuning_options, name), 8u);
  EXPECT_EQ(offsetof(tw_tuning_options, strategy), 48u);
  EXPECT_EQ(offsetof(tw_tuning_options, seed), 56u);
  EXPECT_EQ(offsetof(tw_tuning_options, warm_store_count), 72u);
  EXPECT_EQ(sizeof(tw_value), 32u);  // as tw_buffer
  EXPECT_EQ(offsetof(tw_measurement, verdict), 4u);
  EXPECT_EQ(offsetof(tw_measurement, values), 16u);
  EXPECT_EQ(offsetof(tw_measurement, max_abs_error), 32u);
  EXPECT_EQ(offsetof(tw_trial, verdict), 4u);
  EXPECT_EQ(offsetof(tw_trial, others), 48u);
  EXPECT_EQ(offsetof(tw_trial, value), 56u);
  EXPECT_EQ(offsetof(tw_trial, samples), 96u);
}

}  // namespace
}  // namespace tilewright
