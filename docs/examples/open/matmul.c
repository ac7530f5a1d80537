/* Matrix product of 384 x 384 floats, to be tuned by the compiler's flags and these macros:
 *   BLOCK_I, BLOCK_J, BLOCK_K  block of the loops, for the caches
 *   LANES                      floats of a vector
 *   TILE_I, TILE_J             rows and vectors of a tile of the result, which is in registers
 *   PACK                       1: copy each block of B before it is used
 * Without macros it is the plain loop. Prints one line of JSON with the times of some runs; with
 * the argument "check" it compares the result with another loop instead. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 384, RUNS = 9 };

static float a[N][N], b[N][N], c[N][N];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#ifndef TILE_I
static void multiply(void) {
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < N; ++k) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  }
}
#else
typedef float vec __attribute__((vector_size(LANES * 4), aligned(4)));

#if PACK
static float packed[BLOCK_K][BLOCK_J];
#define ROW_OF_B(k, j) (&packed[(k)-k0][(j)-j0])
#else
#define ROW_OF_B(k, j) (&b[k][j])
#endif

/* One tile of the result: TILE_I rows of TILE_J vectors, over a block of k. */
static inline void multiply_tile(int i, int j, int j0, int k0) {
  (void)j0;
  vec tile[TILE_I][TILE_J];
#pragma GCC unroll 16
  for (int y = 0; y < TILE_I; ++y)
#pragma GCC unroll 16
    for (int x = 0; x < TILE_J; ++x) tile[y][x] = *(const vec*)&c[i + y][j + x * LANES];
  for (int k = k0; k < k0 + BLOCK_K; ++k) {
    const vec* row = (const vec*)ROW_OF_B(k, j);
#pragma GCC unroll 16
    for (int y = 0; y < TILE_I; ++y)
#pragma GCC unroll 16
      for (int x = 0; x < TILE_J; ++x) tile[y][x] += a[i + y][k] * row[x];
  }
#pragma GCC unroll 16
  for (int y = 0; y < TILE_I; ++y)
#pragma GCC unroll 16
    for (int x = 0; x < TILE_J; ++x) *(vec*)&c[i + y][j + x * LANES] = tile[y][x];
}

static void multiply(void) {
  memset(c, 0, sizeof(c));
  for (int j0 = 0; j0 < N; j0 += BLOCK_J) {
    for (int k0 = 0; k0 < N; k0 += BLOCK_K) {
#if PACK
      for (int k = 0; k < BLOCK_K; ++k) memcpy(packed[k], &b[k0 + k][j0], sizeof(packed[k]));
#endif
      for (int i0 = 0; i0 < N; i0 += BLOCK_I)
        for (int j = j0; j < j0 + BLOCK_J; j += TILE_J * LANES)
          for (int i = i0; i < i0 + BLOCK_I; i += TILE_I) multiply_tile(i, j, j0, k0);
    }
  }
}
#endif

static int check(void) {
  for (int i = 0; i < N; i += 7) {
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < N; ++k) sum += (double)a[i][k] * (double)b[k][j];
      if (fabs(sum - (double)c[i][j]) <= 1e-4 * N) continue;
      fprintf(stderr, "c[%d][%d] is %g, expected %g\n", i, j, (double)c[i][j], sum);
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      a[i][j] = (float)((i * 7 + j * 3) % 11) / 11;
      b[i][j] = (float)((i * 5 + j * 13) % 17) / 17;
    }
  }
  multiply();
  if (argc > 1 && strcmp(argv[1], "check") == 0) return check();
  printf("{\"seconds\": [");
  for (int run = 0; run < RUNS; ++run) {
    const double start = now();
    multiply();
    printf("%s%.9f", run == 0 ? "" : ", ", now() - start);
  }
  printf("]}\n");
  return 0;
}
