# Read by CPack before it packs the runner for another machine, whose libraries dpkg-shlibdeps does not
# know: of shared libraries the program has only the C library, in the newest version it names.
file(STRINGS ${CPACK_RUNNER_PROGRAM} names REGEX "^GLIBC_[0-9.]+$")
set(newest 2.4)
foreach(name ${names})
  string(REPLACE "GLIBC_" "" version ${name})
  if(version VERSION_GREATER newest)
    set(newest ${version})
  endif()
endforeach()
set(CPACK_DEBIAN_RUNNER_PACKAGE_DEPENDS "libc6 (>= ${newest})")
