# tw_cross_programs(<target> <name> <source> <header>): compiles a C program for each other machine
# for which a C compiler is installed. The target depends on the programs and has their paths in
# CROSS_<NAME>_AARCH64 and CROSS_<NAME>_ARMV7; empty without a compiler.
function(tw_cross_programs target name source header)
  foreach(machine aarch64 armv7)
    string(TOUPPER CROSS_${name}_${machine} define)
    set(program "")
    if(TILEWRIGHT_CC_${machine})
      set(program ${PROJECT_BINARY_DIR}/tests/${name}_${machine})
      if(NOT TARGET cross_${name}_${machine})
        add_custom_command(OUTPUT ${program}
          COMMAND ${TILEWRIGHT_CC_${machine}} -std=c11 -O1 -Wall -Wextra -Werror
                  -I${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${source} -o ${program}
          DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_SOURCE_DIR}/${header} VERBATIM)
        add_custom_target(cross_${name}_${machine} DEPENDS ${program})
      endif()
      add_dependencies(${target} cross_${name}_${machine})
    endif()
    target_compile_definitions(${target} PRIVATE ${define}="${program}")
  endforeach()
endfunction()
