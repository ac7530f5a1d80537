#define _GNU_SOURCE
#include "src/runtime/parameters.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t FileBytes(const TwModel* model) {
  return (size_t)model->constant_bytes + TW_PARAMETER_OFFSET;
}

int32_t TwParametersMap(const TwModel* model, const char* path, unsigned char** mapped) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return TW_MODEL_NO_PARAMETERS;
  const off_t end = lseek(file, 0, SEEK_END);
  if (end < 0 || (size_t)end != FileBytes(model)) {
    close(file);
    return end < 0 ? TW_MODEL_NO_PARAMETERS : TW_MODEL_WRONG_PARAMETERS;
  }
  void* memory = mmap(NULL, (size_t)end, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (memory == MAP_FAILED) return TW_MODEL_NO_MEMORY;
  const TwParameterHeader* header = memory;
  if (memcmp(header->magic, TW_PARAMETER_MAGIC, sizeof header->magic) == 0 &&
      header->version == TW_PARAMETER_VERSION && header->bytes == model->constant_bytes &&
      header->hash == model->constant_hash) {
    *mapped = memory;
    return 0;
  }
  munmap(memory, (size_t)end);
  return TW_MODEL_WRONG_PARAMETERS;
}

void TwParametersUnmap(const TwModel* model, unsigned char* mapped) {
  if (mapped != NULL) munmap(mapped, FileBytes(model));
}
