/* query_c STORE KEY: asks a record store for the best config of one operator on this machine and
 * prints what a compiler would use of it. C99.
 *
 * To build it with an installed library:
 *   cc query.c $(pkg-config --cflags --libs tilewright) -o query_c
 * If the library is in a folder that the system's loader does not search (`tilewright doctor` shows
 * it), the program has to find it at run time. Either link with the folder as rpath:
 *   cc query.c -Iinclude -LFOLDER -ltilewright -Wl,-rpath,FOLDER -o query_c
 * or set the folder for each run: LD_LIBRARY_PATH=FOLDER ./query_c STORE KEY */

#include <stdio.h>
#include <tilewright/tilewright.h>

static int Fail(const char* doing, const tw_error* error) {
  fprintf(stderr, "%s: %s (%s)\n", doing, error->message, tw_code_name(error->code));
  return 1;
}

static void PrintKnobs(const tw_answer* answer) {
  for (size_t i = 0; i < tw_answer_knob_count(answer); ++i) {
    tw_knob knob = TW_KNOB_INIT;
    if (tw_answer_knob(answer, i, &knob, NULL) != TW_OK) continue;
    printf("  %s = %s\n", knob.name, knob.text);
  }
}

static void Print(const tw_answer* answer) {
  printf("%s\n", tw_answer_explanation(answer)); /* begins with the kind of answer */
  for (size_t i = 0; i < tw_answer_difference_count(answer); ++i) {
    printf("  differs in %s\n", tw_answer_difference(answer, i));
  }
  if (tw_answer_kind(answer) == TW_KIND_MISS) return;
  printf("  template %s, version %d\n", tw_answer_template(answer),
         (int)tw_answer_template_version(answer));
  PrintKnobs(answer);
  tw_record record = TW_RECORD_INIT;
  if (tw_answer_record(answer, &record, NULL) == TW_OK) {
    printf("  measured %.3g %s on %s\n", record.value, record.metric, record.device_model);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: query_c STORE KEY\n");
    return 2;
  }
  tw_error error = TW_ERROR_INIT;
  tw_catalog* catalog = NULL;
  tw_target* target = NULL;
  tw_answer* answer = NULL;
  int result = 0;
  if (tw_catalog_create(&catalog, &error) != TW_OK ||
      tw_catalog_add_store(catalog, argv[1], &error) != TW_OK) {
    result = Fail("opening the store", &error);
  } else if (tw_target_create(NULL, NULL, &target, &error) != TW_OK) {
    result = Fail("looking at this machine", &error);
  } else {
    tw_query_options options = TW_QUERY_OPTIONS_INIT;
    options.accept = TW_ACCEPT_MEASURED | TW_ACCEPT_DEFAULT;
    if (tw_query_key(catalog, target, argv[2], &options, &answer, &error) != TW_OK) {
      result = Fail("asking", &error);
    } else {
      Print(answer);
    }
  }
  tw_answer_free(answer);
  tw_target_free(target);
  tw_catalog_free(catalog);
  return result;
}
