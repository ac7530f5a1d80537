# Exactly the parts of tilewright-runner: for boards, and with a toolchain file for
# another machine. Needs only headers: those of fmt and nlohmann_json, of whichever machine.
function(tw_headers name folder define)
  find_path(TILEWRIGHT_${folder}_HEADERS ${folder} PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  # Not the folder they are in: it has the C library of the building machine too.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/headers)
  file(CREATE_LINK ${TILEWRIGHT_${folder}_HEADERS}/${folder} ${PROJECT_BINARY_DIR}/headers/${folder}
       SYMBOLIC)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/headers)
  target_compile_definitions(${name} INTERFACE ${define})
endfunction()
tw_headers(fmt::fmt fmt FMT_HEADER_ONLY)
tw_headers(nlohmann_json::nlohmann_json nlohmann "")
add_library(tw_codegen INTERFACE)  # only builders need it

foreach(folder src/base src/ir src/target src/vta src/tensor src/schedule src/space src/templates
               src/runtime measure python_free_cli/runner)
  add_subdirectory(${folder})
endforeach()
include(cmake/Packages.cmake)
