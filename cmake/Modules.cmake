# tw_module(<name> DEPS <module>... LIBS <library>... [SEPARATE] [SMALL] [LOOPS] ONLY <regex>
#           WITHOUT <regex> ROOMS <folder>...)
#
# One static library `tw_<name>` from every .cc file of the current folder. DEPS are Tilewright
# modules and are the only ones whose headers the folder may include (tests/layering checks it).
#
# TILEWRIGHT_UNITY compiles several files at once, which takes a third less time: names in unnamed
# namespaces are unique in a module. Turn it off for frequent incremental builds. TILEWRIGHT_BATCH
# files are compiled at once: more of them take less time for the whole. SEPARATE: names are not
# unique, and each file is compiled separately.
# SMALL: optimized for size, for modules without inner loops: a third less code, a sixth less time.
# LOOPS: modules in which tests spend their time. A sanitized build optimizes only these, since it
# compiles the others in half the time without.
# ONLY, WITHOUT: regular expressions that select files. ROOMS: subfolders that are separate libraries.
if(TILEWRIGHT_SANITIZE)
  set(TILEWRIGHT_SMALL $<$<COMPILE_LANGUAGE:CXX>:-O0>)
else()
  set(TILEWRIGHT_SMALL $<$<COMPILE_LANGUAGE:CXX>:-Os>)
endif()
set(TILEWRIGHT_MODULE_BATCH 12)
set(TILEWRIGHT_TEST_BATCH 6)  # also of the program's commands
if(TILEWRIGHT_BATCH)
  set(TILEWRIGHT_MODULE_BATCH ${TILEWRIGHT_BATCH})
  set(TILEWRIGHT_TEST_BATCH ${TILEWRIGHT_BATCH})
endif()
function(tw_module name)
  cmake_parse_arguments(ARG "SEPARATE;SMALL;LOOPS" "ONLY;WITHOUT" "DEPS;LIBS;PRIVATE_LIBS;ROOMS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(ARG_ONLY)
    list(FILTER sources INCLUDE REGEX "${ARG_ONLY}")
  endif()
  if(ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "${ARG_WITHOUT}")
  endif()
  foreach(room ${ARG_ROOMS})
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${room}/")
  endforeach()
  if(sources)
    add_library(tw_${name} STATIC ${sources})
    set(scope PUBLIC)
    set(private PRIVATE)
  else()
    add_library(tw_${name} INTERFACE)
    set(scope INTERFACE)
    set(private INTERFACE)
  endif()
  list(TRANSFORM ARG_DEPS PREPEND tw_)
  target_include_directories(tw_${name} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(tw_${name} ${scope} ${ARG_DEPS} ${ARG_LIBS} ${private} tw_options
                        ${ARG_PRIVATE_LIBS})
  if(sources AND TILEWRIGHT_UNITY AND NOT ARG_SEPARATE)
    set_target_properties(tw_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${TILEWRIGHT_MODULE_BATCH})
  endif()
  set(pch tw_module_pch)
  if(sources AND (ARG_SMALL OR (TILEWRIGHT_SANITIZE AND NOT ARG_LOOPS)))
    target_compile_options(tw_${name} PRIVATE ${TILEWRIGHT_SMALL})
    set(pch tw_small_pch)
  endif()
  if(sources AND TILEWRIGHT_PCH)
    target_precompile_headers(tw_${name} REUSE_FROM ${pch})
  endif()
endfunction()

# tw_shared_library(<target> MODULE <module> EXPORT_NAME <name> LIBS <library>...)
#
# A shared library for other programs, with headers in include/. It contains the module of the current
# folder and the used parts of LIBS, and exports the symbols in the folder's exports.map.
function(tw_shared_library target)
  cmake_parse_arguments(ARG "" "MODULE;EXPORT_NAME" "LIBS" ${ARGN})
  target_compile_options(tw_${ARG_MODULE} PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)  # takes no precompiled header of other visibility
    set_target_properties(tw_${ARG_MODULE} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
  add_library(${target} SHARED $<TARGET_OBJECTS:tw_${ARG_MODULE}>)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${ARG_EXPORT_NAME}
    LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${exports})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE tw_options ${ARG_LIBS})
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${exports},--gc-sections,--as-needed")
  if(NOT TILEWRIGHT_SANITIZE)  # its runtime comes with the program
    target_link_options(${target} PRIVATE "LINKER:-z,defs")
  endif()
endfunction()

# Warnings and sanitizers, for every target of this project.
add_library(tw_options INTERFACE)
target_compile_options(tw_options INTERFACE -Wall -Wextra -Wshadow -Werror
                       # GCC 12: false alarms in <string> and <variant>
                       "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>"
                       # ... and more of them where <string> comes precompiled
                       "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>"
                       # Clang says of libstdc++'s own code what is silenced there, once it comes precompiled
                       # ... and takes names of other files that are compiled together for hidden ones
                       "$<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations;-Wno-shadow>"
                       $<$<AND:$<BOOL:${TILEWRIGHT_FUZZ}>,$<CXX_COMPILER_ID:Clang>>:-fsanitize=fuzzer-no-link>)
if(TILEWRIGHT_SANITIZE)
  target_compile_options(tw_options INTERFACE -g1 -fsanitize=${TILEWRIGHT_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Four checks of every access through a pointer are a quarter of the time to compile: of three of
  # them AddressSanitizer sees the same errors. The fuzzers keep all, alignment with them, where bytes
  # become numbers.
  if(TILEWRIGHT_SANITIZE MATCHES "undefined" AND NOT TILEWRIGHT_FUZZ)
    target_compile_options(tw_options INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
  target_link_options(tw_options INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND NOT TILEWRIGHT_FUZZ)
    # As GCC has it: functions made while the program runs have no type that could be read, and
    # simulated threads have stacks of their own, where no frame may be kept elsewhere.
    # It has GCC's names for what it checks, too.
    if(TILEWRIGHT_SANITIZE MATCHES "undefined")
      target_compile_options(tw_options INTERFACE -fno-sanitize=function)
    endif()
    if(TILEWRIGHT_SANITIZE MATCHES "address")
      target_compile_options(tw_options INTERFACE -fsanitize-address-use-after-return=never)
      target_compile_definitions(tw_options INTERFACE __SANITIZE_ADDRESS__)
    endif()
    if(TILEWRIGHT_SANITIZE MATCHES "thread")
      target_compile_definitions(tw_options INTERFACE __SANITIZE_THREAD__)
    endif()
    target_link_options(tw_options INTERFACE -fuse-ld=lld)
  endif()
endif()

# Linker of tests and benchmarks: LLVM's takes a seventh of the time of GNU's. What is installed is
# linked by the compiler's own.
add_library(tw_fast_link INTERFACE)
find_program(TILEWRIGHT_LLD NAMES ld.lld ld.lld-19 HINTS /usr/lib/llvm-19/bin)
mark_as_advanced(TILEWRIGHT_LLD)
if(TILEWRIGHT_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/linker)
  file(CREATE_LINK ${TILEWRIGHT_LLD} ${PROJECT_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  target_link_options(tw_fast_link INTERFACE -B${PROJECT_BINARY_DIR}/linker -fuse-ld=lld)
endif()

# The standard headers nearly every file includes, read once. Files include what they use all the
# same: TILEWRIGHT_PCH=OFF compiles each on its own.
# Clang reads of a precompiled header only what a file uses, and keeps the functions of templates that
# it instantiated: the JSON library then takes nothing, instead of two seconds for each file. For GCC
# a file that does not use it would take a second more.
set(TILEWRIGHT_PCH_JSON "")
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(TILEWRIGHT_PCH_JSON <nlohmann/json.hpp>)
endif()
if(TILEWRIGHT_PCH)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch/module.cc CONTENT "")
  foreach(pch tw_module_pch tw_small_pch)
    add_library(${pch} STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/pch/module.cc)
    target_link_libraries(${pch} PRIVATE tw_options)
    target_precompile_headers(${pch} PRIVATE <algorithm> <functional> <map> <memory> <optional>
                              <set> <string> <string_view> <tuple> <unordered_map> <utility> <variant>
                              <vector> ${TILEWRIGHT_PCH_JSON})
  endforeach()
  target_compile_options(tw_small_pch PRIVATE ${TILEWRIGHT_SMALL})
endif()

# Third-party data is in a folder next to the project and may be missing. The tests that need it exist
# only if it is there; tests/fixtures has files for the same tests.
set(TILEWRIGHT_SHARED_DATA "$ENV{TILEWRIGHT_SHARED}")
if(NOT TILEWRIGHT_SHARED_DATA)
  set(TILEWRIGHT_SHARED_DATA ${PROJECT_SOURCE_DIR}/../shared)
endif()

# In sanitized builds the lines of the tests themselves, which a report needs least, are a seventh of the
# time to compile them.
set(TILEWRIGHT_TEST_OPTIONS -O0)
if(TILEWRIGHT_SANITIZE)
  list(APPEND TILEWRIGHT_TEST_OPTIONS -g0)
endif()

# tw_tests(<folder> DEPS <module>... PARTS <number> SANITIZED_PARTS <number> SANITIZED_WITHOUT <case>...
#          OPTIMIZED_TOO <case>... SHARED <test>...): one test program from tests/<folder>/*_test.cc, with the ctest label <folder>.
# PARTS (default 1): number of processes that divide the cases (tests/cases.sh); a process for each case
# would take longer than most cases do. A part has every PARTS-th case.
# SANITIZED_PARTS: sanitized builds run only so many of the parts (0: none), for modules with hundreds of cases
# that take the same paths with other sizes. SANITIZED_WITHOUT: cases that sanitized builds leave out, as
# shell patterns: their time is spent in code that others cover. All cases run if TILEWRIGHT_ALL_SANITIZED
# is on. TILEWRIGHT_TESTS_ONCE: an optimized build runs only what sanitized builds leave out, and
# OPTIMIZED_TOO: cases, as shell patterns, whose code differs in a sanitized build or is not in it.
# SHARED: the tests that need third-party data, as GoogleTest patterns.
function(tw_tests folder)
  cmake_parse_arguments(ARG "" "PARTS;SANITIZED_PARTS" "DEPS;LIBS;SHARED;SANITIZED_WITHOUT;OPTIMIZED_TOO" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc)
  # A file with a main of its own is another program.
  list(FILTER sources EXCLUDE REGEX "_main\\.cc$")
  if(NOT sources)
    return()
  endif()
  add_executable(${folder}_tests ${sources})
  list(TRANSFORM ARG_DEPS PREPEND tw_)
  target_link_libraries(${folder}_tests PRIVATE tw_options tw_fast_link tw_test_support ${ARG_DEPS} ${ARG_LIBS}
                        GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(${folder}_tests PRIVATE
                             TILEWRIGHT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Compiling a test takes longer than running it, mostly to instantiate matchers. So several files are
  # compiled at once.
  target_compile_options(${folder}_tests PRIVATE ${TILEWRIGHT_TEST_OPTIONS})
  # The code under test has all checks; the tests themselves are not checked for undefined behavior.
  if(TILEWRIGHT_SANITIZE MATCHES "undefined")
    target_compile_options(${folder}_tests PRIVATE -fno-sanitize=undefined)
  endif()
  set_target_properties(${folder}_tests PROPERTIES UNITY_BUILD ${TILEWRIGHT_UNITY}
                                                   UNITY_BUILD_BATCH_SIZE ${TILEWRIGHT_TEST_BATCH})
  if(TILEWRIGHT_PCH)
    target_precompile_headers(${folder}_tests REUSE_FROM tw_test_pch)
  endif()
  set(filter "*")
  if(ARG_SHARED AND NOT EXISTS ${TILEWRIGHT_SHARED_DATA}/data)
    message(STATUS "No ${TILEWRIGHT_SHARED_DATA}/data: tests of ${folder} left out: ${ARG_SHARED}")
    list(JOIN ARG_SHARED ":" patterns)
    set(filter "-${patterns}")
  endif()
  if(NOT ARG_PARTS)
    set(ARG_PARTS 1)
  endif()
  if(NOT DEFINED ARG_SANITIZED_PARTS)
    set(ARG_SANITIZED_PARTS ${ARG_PARTS})
  endif()
  list(JOIN ARG_SANITIZED_WITHOUT ":" apart)
  list(APPEND ARG_OPTIMIZED_TOO ${ARG_SANITIZED_WITHOUT})
  list(JOIN ARG_OPTIMIZED_TOO ":" optimized)
  set(added FALSE)
  foreach(part RANGE 1 ${ARG_PARTS})
    set(choice "")
    if(TILEWRIGHT_SANITIZE AND NOT TILEWRIGHT_ALL_SANITIZED)
      if(part GREATER ARG_SANITIZED_PARTS)
        continue()
      elseif(apart)
        set(choice without ${apart})
      endif()
    elseif(TILEWRIGHT_TESTS_ONCE AND NOT TILEWRIGHT_SANITIZE AND part LESS_EQUAL ARG_SANITIZED_PARTS)
      if(NOT optimized)
        continue()
      endif()
      set(choice only ${optimized})
    endif()
    set(added TRUE)
    set(name ${folder}_tests_${part}_of_${ARG_PARTS})
    # Each case has the time that scripts/test.sh gives a test, so a part has more. Programs of many
    # parts go first.
    add_test(NAME ${name}
             COMMAND ${PROJECT_SOURCE_DIR}/tests/cases.sh $<TARGET_FILE:${folder}_tests> ${part}
                     ${ARG_PARTS} ${PROJECT_BINARY_DIR}/cases/${name} ${filter} ${choice})
    set_tests_properties(${name} PROPERTIES LABELS ${folder} TIMEOUT 3600
                         COST ${ARG_PARTS})
  endforeach()
  if(NOT added)
    set_target_properties(${folder}_tests PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(TILEWRIGHT_TEST_CASES)  # for editors and `ctest -R Suite.Case`
    gtest_discover_tests(${folder}_tests DISCOVERY_MODE PRE_TEST PROPERTIES LABELS case)
  endif()
endfunction()
