# cmake -D FOLDER=FOLDER -D SCRIPTS=FILE,FILE -D OUTPUT=FILE.cpp -P: page.html, page.css and the scripts of a folder, one behind the
# other, as text in C++, with the hashes that a content security policy names scripts and styles by.

# What 64 hexadecimal digits are in base64.
function(in_base64 hex result)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text)
  string(APPEND hex 00) # 33 bytes: 11 groups of three
  foreach(group RANGE 10)
    math(EXPR begin "6 * ${group}")
    string(SUBSTRING ${hex} ${begin} 6 bytes)
    foreach(shift 18 12 6 0)
      math(EXPR digit "0x${bytes} >> ${shift} & 63")
      string(SUBSTRING ${digits} ${digit} 1 letter)
      string(APPEND text ${letter})
    endforeach()
  endforeach()
  string(REGEX REPLACE "A$" "=" text ${text}) # the byte that was added
  set(${result} ${text} PARENT_SCOPE)
endfunction()

# `content` as a string of C++.
function(as_literal content result)
  if(content MATCHES "\\)ppsim\"")
    message(FATAL_ERROR "a file in ${FOLDER} holds what ends a string of C++ here: )ppsim\"")
  endif()
  set(${result} "R\"ppsim(${content})ppsim\"" PARENT_SCOPE)
endfunction()

# An Asset of that name. HTML would end the element at what begins like its end.
function(asset name content result)
  string(TOLOWER "${content}" lower)
  if(lower MATCHES "</(script|style)|<!--")
    message(FATAL_ERROR "${name} in ${FOLDER} holds '${CMAKE_MATCH_0}', which HTML would take for its own: write it in parts")
  endif()
  string(SHA256 hex "${content}")
  in_base64(${hex} hash)
  as_literal("${content}" literal)
  set(${result} "const Asset ${name}{${literal}, \"sha256-${hash}\"};\n" PARENT_SCOPE)
endfunction()

file(READ ${FOLDER}/page.html body)
file(READ ${FOLDER}/page.css style)
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
set(script)
foreach(name IN LISTS SCRIPTS)
  file(READ ${FOLDER}/${name} content)
  string(APPEND script "${content}")
endforeach()
asset(page_script "${script}" script)
asset(page_style "${style}" style)
as_literal("${body}" body)
file(WRITE ${OUTPUT} "#include \"html/document.hpp\"\n\nnamespace ppsim::viz {\n\n${script}${style}const std::string_view page_body = ${body};\n\n} // namespace ppsim::viz\n")
