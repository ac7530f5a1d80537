/* Control groups form a tree; a group's quota limits all groups below it. Version 2 has one tree
 * and the file cpu.max ("200000 100000", "max 100000"). Version 1 has a tree for each controller
 * and the files cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us. /proc/self/cgroup has a line for
 * each tree: "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1. Inside a container the
 * path may be that of the host, which is not mounted there; its parents up to the root are tried,
 * too. */

#define _GNU_SOURCE
#include "src/runtime/cpu_limit.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { kPath = 4096, kFile = 8192, kNumber = 64 };
static const int64_t kMaxCpus = 1 << 20;

/* Appends a text to a path of kPath bytes. Returns 0 if it does not fit. */
static int Append(char* path, int64_t* length, const char* text, int64_t count) {
  if (*length + count >= kPath) return 0;
  memcpy(path + *length, text, (size_t)count);
  *length += count;
  path[*length] = 0;
  return 1;
}

static int64_t LengthOf(const char* text) {
  int64_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

/* Reads up to size - 1 bytes, with a zero after them. Returns their number, -1 on an error. */
static int64_t ReadSmall(const char* path, char* buffer, int64_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return -1;
  int64_t total = 0;
  while (total + 1 < size) {
    const int64_t bytes = read(file, buffer + total, (size_t)(size - 1 - total));
    if (bytes <= 0) break;
    total += bytes;
  }
  close(file);
  buffer[total] = 0;
  return total;
}

/* Parses a number without sign at *text and moves *text after it. Returns -1 if there is none. */
static int64_t ParseNumber(const char** text) {
  int64_t number = -1;
  for (; **text >= '0' && **text <= '9'; ++*text) {
    if (number > INT64_MAX / 10 - 1) return -1;
    number = (number < 0 ? 0 : number) * 10 + (**text - '0');
  }
  return number;
}

static int64_t CpusOf(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  const int64_t cpus = quota / period + (quota % period != 0);
  return cpus < kMaxCpus ? cpus : kMaxCpus;
}

/* Returns the quota of one group in processors; 0 if it has none. folder: path of kPath bytes, left
 * as it was. */
static int64_t QuotaOfGroup(char* folder, int64_t length, int unified) {
  char text[kNumber], other[kNumber];
  const char* at = text;
  int64_t end = length;
  int64_t quota = 0;
  if (unified) {
    if (Append(folder, &end, "/cpu.max", 8) && ReadSmall(folder, text, kNumber) > 0) {
      const int64_t micros = ParseNumber(&at);
      if (*at == ' ') ++at;
      quota = CpusOf(micros, ParseNumber(&at));
    }
  } else if (Append(folder, &end, "/cpu.cfs_quota_us", 17) &&
             ReadSmall(folder, text, kNumber) > 0) {
    const char* period = other;
    end = length;
    if (Append(folder, &end, "/cpu.cfs_period_us", 18) && ReadSmall(folder, other, kNumber) > 0) {
      quota = CpusOf(ParseNumber(&at), ParseNumber(&period));
    }
  }
  folder[length] = 0;
  return quota;
}

static int64_t LeastQuota(int64_t a, int64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

/* Returns the least quota of the group at mount + group and of its parents. */
static int64_t QuotaOfTree(const char* root, const char* mount, const char* group, int64_t count,
                           int unified) {
  char folder[kPath];
  int64_t length = 0, least = 0;
  if (!Append(folder, &length, root, LengthOf(root))) return 0;
  if (!Append(folder, &length, mount, LengthOf(mount))) return 0;
  const int64_t top = length;
  /* ".." leads out of the container's part of the tree. */
  int inside = 1;
  for (int64_t i = 0; i + 1 < count; ++i)
    inside = inside && !(group[i] == '.' && group[i + 1] == '.');
  if (inside && !Append(folder, &length, group, count)) return 0;
  while (1) {
    least = LeastQuota(least, QuotaOfGroup(folder, length, unified));
    if (length <= top) return least;
    while (length > top && folder[length - 1] != '/') --length;
    if (length > top) --length;
    folder[length] = 0;
  }
}

/* Returns 1 if the list of controllers has "cpu". */
static int HasCpu(const char* list, int64_t count) {
  for (int64_t i = 0; i < count;) {
    int64_t end = i;
    while (end < count && list[end] != ',') ++end;
    if (end - i == 3 && memcmp(list + i, "cpu", 3) == 0) return 1;
    i = end + 1;
  }
  return 0;
}

/* Returns the quota of one line of /proc/self/cgroup. */
static int64_t QuotaOfLine(const char* root, const char* line, int64_t count) {
  int64_t first = 0;
  while (first < count && line[first] != ':') ++first;
  int64_t second = first + 1;
  while (second < count && line[second] != ':') ++second;
  if (second >= count) return 0;
  const char* group = line + second + 1;
  const int64_t length = count - second - 1;
  if (second == first + 1) return QuotaOfTree(root, "/sys/fs/cgroup", group, length, 1);
  if (!HasCpu(line + first + 1, second - first - 1)) return 0;
  return LeastQuota(QuotaOfTree(root, "/sys/fs/cgroup/cpu", group, length, 0),
                    QuotaOfTree(root, "/sys/fs/cgroup/cpu,cpuacct", group, length, 0));
}

int32_t TwCpuQuota(const char* root) {
  char path[kPath], text[kFile];
  int64_t length = 0, least = 0;
  if (!Append(path, &length, root, LengthOf(root))) return 0;
  if (!Append(path, &length, "/proc/self/cgroup", 17)) return 0;
  const int64_t size = ReadSmall(path, text, kFile);
  for (int64_t start = 0; start < size;) {
    int64_t end = start;
    while (end < size && text[end] != '\n') ++end;
    least = LeastQuota(least, QuotaOfLine(root, text + start, end - start));
    start = end + 1;
  }
  return (int32_t)least;
}

int32_t TwUsableCpus(void) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int32_t cpus = 1;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cpus = CPU_COUNT(&allowed);
  const int32_t quota = TwCpuQuota("");
  if (quota > 0 && quota < cpus) cpus = quota;
  return cpus > 0 ? cpus : 1;
}
