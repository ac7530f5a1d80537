#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>

namespace tilewright::simt {

/// A place in running code that can be gone back to: a fiber with a stack of its own, or what
/// started the fibers. Not movable once it was switched from.
class Fiber {
 public:
  /// Switched to for the first time, it calls `body(argument)`, which must never return. No fiber
  /// had `stack` before.
  void Make(std::byte* stack, std::size_t stack_bytes, void (*body)(void*), void* argument);
  /// The running code becomes `from`; `to` goes on. Returns when `from` is switched to.
  static void Switch(Fiber& from, Fiber& to);

 private:
  static void Enter(unsigned body_high, unsigned body_low, unsigned argument_high,
                    unsigned argument_low);
  ucontext_t start_{};  // where it begins; under a sanitizer also where it is
  jmp_buf at_;
  bool began_ = false;  // at_ is where it is
};

}  // namespace tilewright::simt
