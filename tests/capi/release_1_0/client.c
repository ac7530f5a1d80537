/* old_client STORE KEY LOG MODEL FOLDER: a program of release 1.0.0, compiled with the header of that day
 * (include/ beside this file; neither changes). It calls every function there was, so that a library
 * which lost one, or gives a structure other places, does not pass. C99. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

#define EXPECT(what)                                                           \
  do {                                                                         \
    if (!(what)) {                                                             \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, error.message);    \
      return 1;                                                                \
    }                                                                          \
  } while (0)

static tw_error error = TW_ERROR_INIT;

static int AskOperator(tw_catalog* catalog, tw_target* target) {
  const int64_t data[] = {1, 512}, weight[] = {1000, 512}, one[] = {1};
  char key[512];
  size_t needed = 0;
  tw_operator* op = NULL;
  tw_answer* answer = NULL;
  EXPECT(tw_operator_create("dense", &op, &error) == TW_OK);
  EXPECT(tw_operator_add_tensor(op, "float32", data, 2, &error) == TW_OK);
  EXPECT(tw_operator_add_tensor(op, "float32", weight, 2, &error) == TW_OK);
  EXPECT(tw_operator_set_text(op, "out_dtype", "float32", &error) == TW_OK);
  EXPECT(tw_operator_set_integers(op, "no such thing", one, 1, &error) == TW_INVALID_ARGUMENT);
  EXPECT(tw_operator_key(op, NULL, 0, &needed, &error) != TW_INTERNAL && needed < sizeof key);
  EXPECT(tw_operator_key(op, key, sizeof key, &needed, &error) == TW_OK);
  EXPECT(strcmp(key, "dense(float32[1,512]MK,float32[1000,512]NK)->float32") == 0);
  EXPECT(tw_query_operator(catalog, target, op, NULL, &answer, &error) == TW_OK);
  EXPECT(tw_answer_kind(answer) == TW_KIND_HIT);
  tw_answer_free(answer);
  tw_operator_free(op);
  return 0;
}

static int ReadAnswer(const tw_answer* answer) {
  tw_record record = TW_RECORD_INIT;
  char* json;
  size_t needed = 0;
  EXPECT(tw_answer_kind(answer) == TW_KIND_HIT);
  EXPECT(strcmp(tw_kind_name(tw_answer_kind(answer)), "hit") == 0);
  EXPECT(tw_answer_cost_seconds(answer) == 0.001 && tw_answer_expected_slowdown(answer) == 1);
  EXPECT(*tw_answer_explanation(answer) && *tw_answer_workload(answer) && *tw_answer_target(answer));
  EXPECT(tw_answer_difference_count(answer) == 0 && tw_answer_difference(answer, 0) == NULL);
  EXPECT(*tw_answer_template(answer) && tw_answer_template_version(answer) > 0);
  EXPECT(tw_answer_config_index(answer) >= 0 && *tw_answer_config(answer) == '{');
  EXPECT(tw_answer_knob_count(answer) > 0);
  for (size_t i = 0; i < tw_answer_knob_count(answer); ++i) {
    tw_knob knob = TW_KNOB_INIT, same = TW_KNOB_INIT;
    EXPECT(tw_answer_knob(answer, i, &knob, &error) == TW_OK);
    EXPECT(tw_answer_find_knob(answer, knob.name, &same, &error) == TW_OK);
    EXPECT(strcmp(knob.text, same.text) == 0 && knob.count > 0);
    EXPECT((knob.integers != NULL) != (knob.strings != NULL));
  }
  EXPECT(tw_answer_record(answer, &record, &error) == TW_OK);
  EXPECT(record.struct_size == sizeof record && record.verified == 1 && strlen(record.id) == 32);
  EXPECT(record.sample_count == 3 && record.samples[1] == 0.0011 && record.value == 0.001);
  EXPECT(strcmp(record.metric, "seconds") == 0 && record.codegen_version > 0);
  EXPECT(tw_answer_json(answer, NULL, 0, &needed, NULL) != TW_INTERNAL && needed > 100);
  json = malloc(needed);
  EXPECT(json != NULL && tw_answer_json(answer, json, needed, &needed, &error) == TW_OK);
  EXPECT(json[0] == '{' && strlen(json) + 1 == needed);
  free(json);
  return 0;
}

static int Ask(const char* store, const char* key, const char* log, const char* packages) {
  tw_catalog* catalog = NULL;
  tw_target* target = NULL;
  tw_answer* answer = NULL;
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  tw_package_options trust = TW_PACKAGE_OPTIONS_INIT;
  size_t added = 0;
  EXPECT(tw_catalog_create(&catalog, &error) == TW_OK);
  EXPECT(tw_catalog_add_store(catalog, store, &error) == TW_OK);
  EXPECT(tw_catalog_add_log(catalog, log, &error) == TW_OK);
  trust.allow_unsigned = 1;
  EXPECT(tw_catalog_add_package(catalog, "none.twpkg", &trust, &error) == TW_NOT_FOUND);
  EXPECT(error.code == TW_NOT_FOUND && *error.message);
  EXPECT(tw_catalog_add_installed(catalog, packages, &added, &error) == TW_OK && added == 0);
  EXPECT(tw_catalog_problem(catalog, 0) == NULL);
  EXPECT(tw_catalog_set_model(catalog, "none.model", &error) == TW_NOT_FOUND);
  EXPECT(tw_catalog_source_count(catalog) >= 1);
  EXPECT(strcmp(tw_catalog_source_path(catalog, 0), store) == 0);
  EXPECT(tw_catalog_refresh(catalog, &error) == TW_OK);

  EXPECT(tw_target_create(NULL, NULL, &target, &error) == TW_OK);
  EXPECT(*tw_target_text(target) && *tw_target_device(target) == '{');
  options.accept = TW_ACCEPT_MEASURED | TW_ACCEPT_DEFAULT;
  EXPECT(tw_query_key(catalog, target, key, &options, &answer, &error) == TW_OK);
  if (ReadAnswer(answer) != 0) return 1;
  tw_answer_free(answer);
  EXPECT(tw_query_key(catalog, target, "conv2d(", NULL, &answer, &error) == TW_INVALID_ARGUMENT);
  EXPECT(tw_query_tuple(catalog, target,
                        "('dense_nopack.x86', ('TENSOR', (1, 512), 'float32'), ('TENSOR', (1000, "
                        "512), 'float32'), None, 'float32')",
                        NULL, &answer, &error) == TW_OK);
  EXPECT(tw_answer_kind(answer) == TW_KIND_HIT);
  tw_answer_free(answer);
  if (AskOperator(catalog, target) != 0) return 1;
  tw_target_free(target);
  tw_catalog_free(catalog);
  return 0;
}

static int RunModel(const char* path) {
  tw_model* model = NULL;
  tw_tensor_info info = TW_TENSOR_INFO_INIT;
  tw_buffer inputs[4], outputs[4];
  size_t input_count, output_count;
  EXPECT(tw_model_open(path, &model, &error) == TW_OK);
  EXPECT(*tw_model_name(model) && *tw_model_target(model));
  input_count = tw_model_input_count(model);
  output_count = tw_model_output_count(model);
  EXPECT(input_count >= 1 && input_count <= 4 && output_count >= 1 && output_count <= 4);
  for (size_t i = 0; i < input_count; ++i) {
    EXPECT(tw_model_input(model, i, &info, &error) == TW_OK && info.rank > 0 && info.shape[0] > 0);
    inputs[i].bytes = info.bytes;
    inputs[i].data = calloc(1, info.bytes);
  }
  for (size_t i = 0; i < output_count; ++i) {
    EXPECT(tw_model_output(model, i, &info, &error) == TW_OK && *info.name && *info.dtype);
    outputs[i].bytes = info.bytes;
    outputs[i].data = malloc(info.bytes);
  }
  EXPECT(tw_model_set_threads(model, 1, &error) == TW_OK);
  EXPECT(tw_model_run(model, inputs, input_count, outputs, output_count, &error) == TW_OK);
  EXPECT(tw_model_run(model, inputs, 0, outputs, output_count, &error) == TW_INVALID_ARGUMENT);
  for (size_t i = 0; i < input_count; ++i) free(inputs[i].data);
  for (size_t i = 0; i < output_count; ++i) free(outputs[i].data);
  tw_model_free(model);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  EXPECT(tw_api_version() >= TW_API_VERSION && *tw_version());
  EXPECT(strcmp(tw_code_name(TW_NOT_FOUND), "not found") == 0);
  if (Ask(argv[1], argv[2], argv[3], argv[5]) != 0 || RunModel(argv[4]) != 0) return 1;
  printf("a client of 1.0.0 runs with %s\n", tw_version());
  return 0;
}
