#!/usr/bin/env bash
# python.sh: ppsim.torch held against torch.distributed.pipelining of PyTorch 2.14; pytorch_python.py says what is compared. The module
# is compiled by pip in the chroot of Debian forky that pytorch.sh has too (as root; 3 GB), with that Debian's compiler and libraries,
# whose warnings are errors; the tests of tests/python run there, those of ppsim.torch with PyTorch itself.
# Exit status: 0 all is as ppsim says, 1 something is not, 2 something is missing.
# DEBIAN_MIRROR: another than debootstrap's own.
no_program=yes
. "$(dirname "$(readlink -f "$0")")/common.sh"
. "$here/../../tools/packages.sh"
needs git git
debian forky python3-torch python3-pip "${program_packages[@]}" "${python_packages[@]}"

copy_checkout "$here/../.." forky
mkdir -p forky/witnesses
cp "$here"/pytorch*.py forky/witnesses
enter forky
in_forky() { chroot forky env PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1 "$@"; }

in_forky env CMAKE_ARGS='-D PPSIM_WERROR=ON' \
  pip install -v --no-build-isolation --no-index --break-system-packages --force-reinstall /ppsim >forky-pip.log 2>&1 ||
  { tail -n 20 forky-pip.log; fail 'the module does not compile' "see $work/forky-pip.log"; }
sed -n 's/^ *-- \(ppsim .*, GNU.*\)/\1/p; s/^ *\(Python module.*\)/\1/p' forky-pip.log
in_forky cmake --build /ppsim/build/wheel --target ppsim_cli >>forky-pip.log 2>&1 || fail 'the program does not compile' "see $work/forky-pip.log"
in_forky /ppsim/build/wheel/ppsim --version

failed=
for test in "$here"/../python/*_test.py; do
  test=$(basename "$test")
  in_forky env PPSIM_PROGRAM=/ppsim/build/wheel/ppsim PPSIM_TEST_SLACK=10 \
    PYTHONPATH=/ppsim/build/wheel/python:/ppsim/tests/python python3 "/ppsim/tests/python/$test" >forky-test.log 2>&1 ||
    { failed=yes; tail -n 20 forky-test.log; }
  echo "$test: $(tail -n 1 forky-test.log)"
done
in_forky python3 /witnesses/pytorch_python.py train read measure 2>forky.err || { failed=yes; tail -n 5 forky.err; }
# What never says no says nothing
wrong=$(in_forky python3 /witnesses/pytorch_python.py wrong 2>>forky.err) && failed=yes
echo "$wrong"
[[ $wrong == *': astray'* ]] || failed=yes
[ -z "$failed" ]
