/* Tunes a function of this program: how a matrix is cut into blocks while it is transposed.
 *
 *   caller STORE [SIZE [TRIALS]]
 *
 * Any number of these processes may run at once: they share the search. Another run continues it.
 */

#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <tilewright/tilewright.h>
#include <time.h>

static const char* const kSpace =
    "{\"General\": {\"BenchmarkName\": \"transpose\"}, \"ConfigurationSpace\": "
    "{\"TuningParameters\": ["
    "{\"Name\": \"rows\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8, 16, 32, 64], \"Default\": 1},"
    "{\"Name\": \"columns\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8, 16, 32, 64], \"Default\": "
    "1}],"
    "\"Conditions\": [{\"Expression\": \"rows * columns <= 1024\"}]}}";

static void Transpose(const float* from, float* to, long size, long rows, long columns) {
  for (long i = 0; i < size; i += rows)
    for (long j = 0; j < size; j += columns)
      for (long r = i; r < i + rows && r < size; ++r)
        for (long c = j; c < j + columns && c < size; ++c) to[c * size + r] = from[r * size + c];
}

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Measures one config and tells the result. */
static tw_code Measure(tw_tuning* task, const tw_proposal* config, const float* from, float* to,
                       long size, tw_error* error) {
  double samples[5];
  int64_t rows = 1, columns = 1;
  tw_proposal_integer(config, "rows", &rows, NULL);
  tw_proposal_integer(config, "columns", &columns, NULL);
  for (int i = 0; i < 5; ++i) {
    const double start = Now();
    Transpose(from, to, size, (long)rows, (long)columns);
    samples[i] = 1e3 * (Now() - start);
  }
  tw_value time = {"time", "ms", samples, 5};
  tw_measurement result = TW_MEASUREMENT_INIT;
  result.values = &time;
  result.value_count = 1;
  for (long i = 0; i < size * size; ++i) {
    if (to[i % size * size + i / size] == from[i]) continue;
    result.verdict = TW_VERDICT_CORRECTNESS;
    result.reason = "an element differs";
  }
  return tw_tuning_tell(task, tw_proposal_number(config), &result, error);
}

int main(int argc, char** argv) {
  const long size = argc > 2 ? atol(argv[2]) : 512, trials = argc > 3 ? atol(argv[3]) : 20;
  char problem[64];
  snprintf(problem, sizeof problem, "{\"size\": %ld}", size);
  tw_error error = TW_ERROR_INIT;
  tw_tuning_options options = TW_TUNING_OPTIONS_INIT;
  options.name = "transpose";
  options.space = kSpace;
  options.problem = problem;
  tw_tuning* task = NULL;
  tw_catalog* catalog = NULL;
  tw_answer* answer = NULL;
  float* from = malloc(sizeof(float) * (size_t)(size * size));
  float* to = malloc(sizeof(float) * (size_t)(size * size));
  if (argc < 2 || size < 1 || from == NULL || to == NULL) return 2;
  for (long i = 0; i < size * size; ++i) from[i] = (float)i;

  tw_code code = tw_tuning_open(argv[1], &options, &task, &error);
  for (long i = 0; i < trials && code == TW_OK; ++i) {
    tw_proposal* config = NULL;
    code = tw_tuning_ask(task, &config, &error);
    if (code == TW_NOT_FOUND) { /* every config was measured */
      code = TW_OK;
      break;
    }
    if (code == TW_OK) code = Measure(task, config, from, to, size, &error);
    tw_proposal_free(config);
  }
  if (code == TW_OK) code = tw_catalog_create(&catalog, &error);
  if (code == TW_OK) code = tw_catalog_add_store(catalog, argv[1], &error);
  if (code == TW_OK) code = tw_query_tuning(catalog, task, NULL, &answer, &error);
  if (code == TW_OK) {
    printf("%s: %s\n", tw_kind_name(tw_answer_kind(answer)), tw_answer_config(answer));
    printf("%s\n", tw_answer_explanation(answer));
  } else {
    fprintf(stderr, "%s\n", error.message);
  }
  tw_answer_free(answer);
  tw_catalog_free(catalog);
  tw_tuning_free(task);
  free(from);
  free(to);
  return code == TW_OK ? 0 : 1;
}
