#pragma once

#include <memory>

#include "src/runtime/pool.h"

namespace tilewright::measure {

struct DestroyPool {
  void operator()(TwPool* pool) const { TwPoolDestroy(pool); }
};
/// The runtime's thread pool, owned.
using Pool = std::unique_ptr<TwPool, DestroyPool>;

}  // namespace tilewright::measure
