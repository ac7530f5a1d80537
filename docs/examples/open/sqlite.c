/* Inserts and reads rows of an SQLite database with the pragmas of its arguments:
 *   sqlite FILE JOURNAL SYNCHRONOUS PAGE_SIZE CACHE_KIB ROWS_PER_TRANSACTION
 * Prints one line of JSON with the seconds and the bytes of the file. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 500 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run(sqlite3* db, const char* sql) {
  char* why = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK) return;
  fprintf(stderr, "%s: %s\n", sql, why);
  exit(1);
}

static void pragma(sqlite3* db, const char* name, const char* value) {
  char text[100];
  snprintf(text, sizeof(text), "PRAGMA %s = %s", name, value);
  run(db, text);
}

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  sqlite3* db = NULL;
  remove(argv[1]);
  if (sqlite3_open(argv[1], &db) != SQLITE_OK) return 1;
  pragma(db, "page_size", argv[4]);
  pragma(db, "journal_mode", argv[2]);
  pragma(db, "synchronous", argv[3]);
  pragma(db, "cache_size", argv[5]);
  const int per_transaction = atoi(argv[6]);
  run(db, "CREATE TABLE t (key INTEGER PRIMARY KEY, value TEXT, number INT)");
  run(db, "CREATE INDEX i ON t (number)");
  const double start = now();
  for (int row = 0; row < ROWS; ++row) {
    char sql[120];
    if (row % per_transaction == 0) run(db, "BEGIN");
    snprintf(sql, sizeof(sql), "INSERT INTO t VALUES (%d, 'the text of row %d', %d)", row, row,
             row * 7919 % 1000);
    run(db, sql);
    if (row % per_transaction == per_transaction - 1 || row == ROWS - 1) run(db, "COMMIT");
  }
  for (int number = 0; number < 1000; number += 10) {
    char sql[80];
    snprintf(sql, sizeof(sql), "SELECT sum(length(value)) FROM t WHERE number = %d", number);
    run(db, sql);
  }
  const double seconds = now() - start;
  sqlite3_close(db);
  FILE* file = fopen(argv[1], "rb");
  fseek(file, 0, SEEK_END);
  printf("{\"seconds\": %.9f, \"size\": {\"value\": %ld, \"unit\": \"B\"}}\n", seconds,
         ftell(file));
  fclose(file);
  remove(argv[1]);
  return 0;
}
