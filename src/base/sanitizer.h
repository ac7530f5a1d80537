#pragma once

namespace tilewright {

/// True if a sanitizer reserves shadow memory for this program: then its address space cannot be
/// limited, and exhausting its memory exhausts the machine's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasShadowMemory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
inline constexpr bool kHasShadowMemory = true;
#else
inline constexpr bool kHasShadowMemory = false;
#endif
#else
inline constexpr bool kHasShadowMemory = false;
#endif

}  // namespace tilewright
