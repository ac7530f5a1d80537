# Hand-written models, and programs that use the installed libtilewright.so.
foreach(name tiny_model other_version_model)
  add_library(${name} MODULE capi/model/tiny_model.c)
  target_link_libraries(${name} PRIVATE tilewright_rt Threads::Threads)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
  add_dependencies(capi_tests ${name})
endforeach()
target_compile_definitions(other_version_model PRIVATE OTHER_VERSION)
target_compile_definitions(capi_tests PRIVATE
  TINY_MODEL="$<TARGET_FILE:tiny_model>" OTHER_VERSION_MODEL="$<TARGET_FILE:other_version_model>")

add_executable(capi_make_store capi/store/make_store_main.cc)
target_link_libraries(capi_make_store PRIVATE tw_options tw_records)
add_dependencies(capi_tests tilewright_shared capi_make_store)
add_test(NAME capi_library COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/capi/library_test.sh
         $<TARGET_FILE:tilewright_shared> ${PROJECT_SOURCE_DIR}/include/tilewright/tilewright.h
         ${PROJECT_SOURCE_DIR}/packaging/libtilewright${PROJECT_VERSION_MAJOR}.symbols)
# A sanitizer's runtime has to be loaded first, which external programs do not do.
if(NOT TILEWRIGHT_SANITIZE)
  add_test(NAME capi_installed COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/capi/installed_test.sh
           ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} $<TARGET_FILE:capi_make_store>)
  set_tests_properties(capi_installed PROPERTIES LABELS capi)
endif()
set_tests_properties(capi_library PROPERTIES LABELS capi)

# Many writers and readers of one task, with kill -9: a second here, ten minutes by
# bench/task_stress.sh.
add_executable(task_stress capi/stress/task_stress_main.cc)
target_link_libraries(task_stress PRIVATE tw_options tw_fast_link tw_capi)
target_include_directories(task_stress PRIVATE ${PROJECT_SOURCE_DIR})
add_test(NAME task_stress
         COMMAND sh -c "rm -f task_stress.db*; exec $<TARGET_FILE:task_stress> task_stress.db 1 64 32 0.1")
set_tests_properties(task_stress PROPERTIES LABELS capi)
