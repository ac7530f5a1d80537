# Debian packages by CPack: scripts/package.sh builds them. Each is a component; those of the whole
# project are made from its build, tilewright-runner also from a build of the runner alone for another
# machine (cmake/RunnerOnly.cmake).
find_program(GZIP gzip REQUIRED)

# Files that Debian requires in every package, the same in all of them.
set(changelog ${PROJECT_BINARY_DIR}/changelog.Debian.gz)
execute_process(COMMAND ${GZIP} -9nc ${PROJECT_SOURCE_DIR}/packaging/changelog
                OUTPUT_FILE ${changelog} COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/changelog)
function(tw_package component name)
  install(FILES ${changelog} ${PROJECT_SOURCE_DIR}/packaging/copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
  set(overrides ${PROJECT_SOURCE_DIR}/packaging/${name}.lintian-overrides)
  if(EXISTS ${overrides})
    install(FILES ${overrides} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${name}
            COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
endfunction()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilewright)
set(CPACK_PACKAGE_VENDOR Tilewright)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER
    "Tilewright maintainers <maintainers@users.noreply.a-seed-4180190a.example>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(whole_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

tw_package(runner tilewright-runner)
set(CPACK_COMPONENTS_ALL runner)
set(CPACK_DEBIAN_RUNNER_PACKAGE_SECTION science)
set(CPACK_COMPONENT_RUNNER_DESCRIPTION
"runs schedule candidates for Tilewright on a board
Tilewright finds fast schedules for the tensor operators of neural networks
by measuring candidates. This program runs those that a Tilewright on another
machine has compiled, and says how long they took. It needs no compiler, no
database and no settings.")

if(TILEWRIGHT_RUNNER_ONLY)
  # Nothing of the other machine runs here, and the page is the same everywhere.
  set(TILEWRIGHT_PAGES "" CACHE PATH "Folder of manual pages that the package of the runner takes its own from")
  if(TILEWRIGHT_PAGES)
    install(FILES ${TILEWRIGHT_PAGES}/tilewright-runner.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            COMPONENT runner)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^armv7")
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE armhf)
  endif()
  # Which C library it needs is read from the program when it is packed.
  set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/RunnerPackage.cmake)
  set(CPACK_RUNNER_PROGRAM ${PROJECT_BINARY_DIR}/python_free_cli/runner/tilewright-runner)
else()
  set(library libtilewright${PROJECT_VERSION_MAJOR})
  tw_package(program tilewright)
  tw_package(library ${library})
  tw_package(development libtilewright-dev)
  set(tuner libtilewright-tuner${PROJECT_VERSION_MAJOR})
  tw_package(tunerlibrary ${tuner})
  tw_package(tunerdevelopment libtilewright-tuner-dev)
  list(APPEND CPACK_COMPONENTS_ALL program library development tunerlibrary tunerdevelopment)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/tilewright-worker.service
          DESTINATION lib/systemd/system COMPONENT program EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/tilewright-worker.default
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tilewright/examples COMPONENT program
          EXCLUDE_FROM_ALL)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

  # The page of the command `runner` is that of the program which does the same.
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "tilewright-runner (= ${whole_version})")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libtilewright-dev, libdnnl2 | libdnnl3.6, nats-server, openssh-client")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
      "${PROJECT_SOURCE_DIR}/packaging/postinst;${PROJECT_SOURCE_DIR}/packaging/prerm;${PROJECT_SOURCE_DIR}/packaging/postrm")
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"finds fast schedules for tensor operators and compiles with them
Tilewright reads the graph of a neural network, searches for each of its
tensor operators the schedule that is fastest on a device, keeps every trial
in a store of records, and compiles the network with the best of them into one
shared library. It tunes for CPUs, CUDA GPUs and a simulated VTA, reads and
writes AutoTVM logs, and publishes packages of records.")

  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
  file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
      "${PROJECT_BINARY_DIR}/debian/symbols;${PROJECT_BINARY_DIR}/debian/triggers")
  configure_file(${PROJECT_SOURCE_DIR}/packaging/${library}.symbols
                 ${PROJECT_BINARY_DIR}/debian/symbols COPYONLY)
  set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"best known schedules of tensor operators (library)
Tilewright finds fast schedules for the tensor operators of neural networks.
This library answers other compilers what the best known schedule of an
operator is, and loads and runs compiled models.")

  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${whole_version})")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"best known schedules of tensor operators (development files)
Tilewright finds fast schedules for the tensor operators of neural networks.
These are the headers of its C interface and of its plugins, and what
pkg-config and CMake need to link with the library.")

  set(CPACK_DEBIAN_TUNERLIBRARY_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_TUNERLIBRARY_PACKAGE_CONTROL_EXTRA
      "${PROJECT_BINARY_DIR}/debian/tuner/symbols;${PROJECT_BINARY_DIR}/debian/triggers")
  configure_file(${PROJECT_SOURCE_DIR}/packaging/${tuner}.symbols
                 ${PROJECT_BINARY_DIR}/debian/tuner/symbols COPYONLY)
  set(CPACK_COMPONENT_TUNERLIBRARY_DESCRIPTION
"tunes tensor expressions for programs of others (library)
Tilewright finds fast schedules for the tensor operators of neural networks.
This library does it for a program that embeds it: it searches schedules of a
tensor expression, keeps them, and compiles the best into the process.")

  set(CPACK_DEBIAN_TUNERDEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_TUNERDEVELOPMENT_PACKAGE_DEPENDS
      "${tuner} (= ${whole_version}), libtilewright-dev (= ${whole_version})")
  set(CPACK_COMPONENT_TUNERDEVELOPMENT_DESCRIPTION
"tunes tensor expressions for programs of others (development files)
Tilewright finds fast schedules for the tensor operators of neural networks.
This is the header of the library with which a program tunes expressions of
its own, and what CMake needs to link with it.")
endif()
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/FinishPackages.cmake)
include(CPack)
