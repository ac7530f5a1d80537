#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>

namespace tilewright::simt {

/// Suspended execution context: a fiber with a separate stack, or the code that started the fibers.
/// Not movable after the first switch from it.
class Fiber {
 public:
  /// Prepares a fiber: the first switch to it calls `body(argument)`, which must never return.
  /// `stack` must not have been used by another fiber.
  void Make(std::byte* stack, std::size_t stack_bytes, void (*body)(void*), void* argument);
  /// Suspends the running code as `from` and resumes `to`. Returns when `from` is resumed.
  static void Switch(Fiber& from, Fiber& to);

 private:
  static void Enter(unsigned body_high, unsigned body_low, unsigned argument_high,
                    unsigned argument_low);
  ucontext_t start_{};  // start context; under a sanitizer also the current one
  jmp_buf at_;
  bool began_ = false;  // at_ is the current context
};

}  // namespace tilewright::simt
