# The program that runs models for other machines, if a C compiler for them is installed.
foreach(name aarch64 armv7)
  string(TOUPPER CROSS_DUMP_${name} define)
  set(dump "")
  if(TILEWRIGHT_CC_${name})
    set(dump ${CMAKE_CURRENT_BINARY_DIR}/dump_${name})
    add_custom_command(OUTPUT ${dump}
      COMMAND ${TILEWRIGHT_CC_${name}} -std=c11 -O1 -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}
              ${CMAKE_CURRENT_SOURCE_DIR}/compiler/cross/dump_main.c -o ${dump}
      DEPENDS compiler/cross/dump_main.c ${PROJECT_SOURCE_DIR}/src/runtime/model.h VERBATIM)
    add_custom_target(cross_dump_${name} DEPENDS ${dump})
    add_dependencies(compiler_tests cross_dump_${name})
  endif()
  target_compile_definitions(compiler_tests PRIVATE ${define}="${dump}")
endforeach()
