/* Copies the memory to large pages elsewhere and then moves these to the old address: one system
 * call, after which addresses stay valid. */

#define _GNU_SOURCE
#include "src/runtime/large_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
  kPage = 2 << 20,
  kMin = 4 << 20,    /* below this size, the TLB is large enough */
  kAtOnce = 16 << 20 /* a part exists twice until it has been moved */
};

/* Returns true if the system's file about large pages contains these words. */
static int FileContains(const char* question, const char* words) {
  char answer[128] = "";
  const int file = open(question, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t bytes = read(file, answer, sizeof answer - 1);
  close(file);
  return bytes > 0 && strstr(answer, words) != NULL;
}

static int SystemHasThem(void) {
  return FileContains("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152") &&
         !FileContains("/sys/kernel/mm/transparent_hugepage/enabled", "[never]");
}

/* Restores the contents after the system unmapped the old memory and then failed to move the new
 * one. */
static int PutBack(unsigned char* memory, size_t bytes, const unsigned char* copy) {
  void* again =
      mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (again != memory) abort(); /* out of memory: the contents are lost */
  memcpy(memory, copy, bytes);
  return mprotect(memory, bytes, PROT_READ) == 0;
}

/* memory, bytes: multiples of kPage. Returns true if it was moved. */
static int Move(unsigned char* memory, size_t bytes) {
  unsigned char* room = mmap(NULL, bytes + kPage, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return 0;
  const size_t before = (kPage - (uintptr_t)room % kPage) % kPage;
  unsigned char* copy = room + before;
  if (before > 0) munmap(room, before);
  munmap(copy + bytes, kPage - before);
  if (madvise(copy, bytes, MADV_HUGEPAGE) != 0) {
    munmap(copy, bytes);
    return 0;
  }
  memcpy(copy, memory, bytes);
  if (mprotect(copy, bytes, PROT_READ) == 0 &&
      mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == memory) {
    return 1;
  }
  unsigned char resident;
  const int kept = mincore(memory, 1, &resident) == 0;
  const int moved = kept ? 0 : PutBack(memory, bytes, copy);
  munmap(copy, bytes);
  return moved;
}

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int64_t TwLargePagesMove(const unsigned char* memory, int64_t bytes, int64_t done, double seconds) {
  if (bytes < kMin || !SystemHasThem()) return bytes;
  const double start = Seconds();
  const uintptr_t begin = ((uintptr_t)memory + (size_t)done + kPage - 1) / kPage * kPage;
  const uintptr_t end = ((uintptr_t)memory + (size_t)bytes) / kPage * kPage;
  for (uintptr_t at = begin; at < end; at += kAtOnce) {
    if (at > begin && Seconds() - start > seconds) return (int64_t)(at - (uintptr_t)memory);
    const size_t part = end - at < kAtOnce ? end - at : kAtOnce;
    if (!Move((unsigned char*)at, part)) break;
  }
  return bytes;
}
