# The component `archive`: every file of Tilewright's own in the portable archive and the wheel, at the
# same place below any prefix. scripts/package_archive.sh installs it and adds the libraries.
# Only the folder of libraries differs from the Debian packages: distributions disagree about its name,
# and find_package and pkg-config look into lib on all of them.
install(TARGETS tilewright tilewright_runner RUNTIME DESTINATION bin
        COMPONENT archive EXCLUDE_FROM_ALL)
install(TARGETS tilewright_tuner_worker RUNTIME DESTINATION lib/tilewright
        COMPONENT archive EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tilewright DESTINATION include
        COMPONENT archive EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/cost_models ${PROJECT_SOURCE_DIR}/configs/targets
        ${PROJECT_SOURCE_DIR}/configs/vta DESTINATION share/tilewright
        COMPONENT archive EXCLUDE_FROM_ALL PATTERN README.md EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/python_free_cli/share/ DESTINATION share
        COMPONENT archive EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION share/doc/tilewright COMPONENT archive EXCLUDE_FROM_ALL)

set(archive_package lib/cmake/Tilewright)
foreach(pair "tilewright_shared:TilewrightTargets" "tilewright_tuner:TilewrightTunerTargets")
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 library)
  list(GET pair 1 targets)
  install(TARGETS ${library} EXPORT Archive${targets} LIBRARY DESTINATION lib
          COMPONENT archive NAMELINK_SKIP EXCLUDE_FROM_ALL)
  install(EXPORT Archive${targets} FILE ${targets}.cmake NAMESPACE Tilewright::
          DESTINATION ${archive_package} COMPONENT archive EXCLUDE_FROM_ALL)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/src/capi/TilewrightConfig.cmake
        ${PROJECT_BINARY_DIR}/src/capi/TilewrightConfigVersion.cmake
        DESTINATION ${archive_package} COMPONENT archive EXCLUDE_FROM_ALL)
block(SCOPE_FOR VARIABLES)
  set(CMAKE_INSTALL_LIBDIR lib)
  set(CMAKE_INSTALL_INCLUDEDIR include)
  set(prefix_from_package ../..)
  configure_file(${PROJECT_SOURCE_DIR}/src/capi/tilewright.pc.in
                 ${PROJECT_BINARY_DIR}/archive/tilewright.pc @ONLY)
endblock()
install(FILES ${PROJECT_BINARY_DIR}/archive/tilewright.pc DESTINATION lib/pkgconfig
        COMPONENT archive EXCLUDE_FROM_ALL)
