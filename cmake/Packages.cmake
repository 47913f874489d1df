# cpack: a Debian package of the program, of each plugin and of the libraries. tools/package makes them, and what runs on other systems.
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_VENDOR ppsim)
set(CPACK_PACKAGE_CONTACT "ppsim maintainers <maintainers@ppsim.invalid>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0ppsim1) # not of Debian itself
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)

# Compressed where a package is made, and not where the project is configured.
function(ppsim_install_compressed source destination component)
  install(CODE "
    set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${destination}\")
    get_filename_component(folder \"\${to}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND gzip -9nc \"${source}\" OUTPUT_FILE \"\${to}\" COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

# ppsim_package(mpi ppsim-mpi SECTION DEPENDS LINE...): what is installed as component mpi, described by these lines.
function(ppsim_package component name section depends)
  string(REPLACE ";" "\n" long "${ARGN}")
  string(TOUPPER ${component} upper)
  foreach(setting
      "CPACK_DEBIAN_${upper}_PACKAGE_NAME|${name}" "CPACK_DEBIAN_${upper}_PACKAGE_SECTION|${section}"
      "CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS|${depends}" "CPACK_COMPONENT_${upper}_DESCRIPTION|${long}")
    string(REGEX MATCH "^([^|]*)[|](.*)$" ignored "${setting}")
    set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}" PARENT_SCOPE)
  endforeach()
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright DESTINATION ${doc} COMPONENT ${component} EXCLUDE_FROM_ALL)
  configure_file(packaging/changelog.in packages/${name}/changelog.Debian @ONLY)
  ppsim_install_compressed(${PROJECT_BINARY_DIR}/packages/${name}/changelog.Debian ${doc}/changelog.Debian.gz ${component})
endfunction()

ppsim_install_compressed(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${CMAKE_INSTALL_DATADIR}/doc/ppsim/changelog.gz program)

set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
ppsim_package(program ppsim science ""
  "For a pipeline of devices and a schedule (GPipe, 1F1B, interleaved," "zero-bubble, V-shaped, DualPipe and others) ppsim says how long a"
  "training step takes, where the bubble is and why, and whether the memory" "fits. It compares schedules, searches better ones with a proof of how good"
  "they are, and plans which configuration a cluster should train with.")
if(TARGET ppsim_mpi)
  ppsim_package(mpi ppsim-mpi science "ppsim ${same}"
    "The plugin with which ppsim replays schedules on processes that mpirun" "starts, and spreads sweeps and plans over them.")
endif()
if(TARGET ppsim_gpu)
  ppsim_package(cuda ppsim-cuda contrib/science "ppsim ${same}"
    "The plugin with which ppsim replays schedules and calibrates costs on" "CUDA devices, with NCCL where it was built with it.")
  install(FILES packaging/ppsim-cuda.lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ppsim-cuda
    COMPONENT cuda EXCLUDE_FROM_ALL)
endif()
ppsim_package(dev libppsim-dev libdevel ""
  "Static libraries, headers and find_package() files for programs that" "simulate pipeline-parallel training schedules themselves.")
include(CPack)
