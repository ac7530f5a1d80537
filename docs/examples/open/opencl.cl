// Matrix product c = a b of SIZE x SIZE. Each item computes ROWS rows of LANES columns, in steps of
// STEP products. With STAGE, the rows of a group are in local memory.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(float, LANES)
#define LOAD JOIN(vload, LANES)
#define STORE JOIN(vstore, LANES)

__kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void product(__global const float* restrict a, __global const float* restrict b,
             __global float* restrict c) {
  const int column = get_global_id(0) * LANES;
  const int first_row = get_group_id(1) * GROUP_Y * ROWS;
  const int row = first_row + get_local_id(1) * ROWS;
  VECTOR sums[ROWS];
  for (int i = 0; i < ROWS; ++i) sums[i] = 0;
#if STAGE
  __local float rows[GROUP_Y * ROWS][STEP];
#endif
  for (int start = 0; start < SIZE; start += STEP) {
#if STAGE
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(1) * GROUP_X + get_local_id(0); i < GROUP_Y * ROWS * STEP;
         i += GROUP_X * GROUP_Y) {
      rows[i / STEP][i % STEP] = a[(first_row + i / STEP) * SIZE + start + i % STEP];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int k = 0; k < STEP; ++k) {
      const VECTOR factors = LOAD(0, b + (start + k) * SIZE + column);
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
#if STAGE
        sums[i] += rows[get_local_id(1) * ROWS + i][k] * factors;
#else
        sums[i] += a[(row + i) * SIZE + start + k] * factors;
#endif
      }
    }
  }
  for (int i = 0; i < ROWS; ++i) STORE(sums[i], 0, c + (row + i) * SIZE + column);
}
