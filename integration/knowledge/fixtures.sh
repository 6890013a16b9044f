# The workspace every example runs in: text, archives, code, a repository with history. `$1` is the folder.
# What a host has no program for is left out; the examples that need it belong to that program.
set -eu
cd "$1"
export HOME=$1 LC_ALL=C.UTF-8 TZ=UTC GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
has() { command -v "$1" > /dev/null 2>&1; }

for name in f a b x file list a.txt b.txt file.txt notes.txt words.txt log.txt; do
    printf 'one two three\nalpha beta\nkey = value\nTODO: %s\n10 20 30\n' "$name" > "$name"
done
# Sorted, by lines and by fields.
printf 'a,1 foo\nb,2 bar\nc,3 foo\n' | tee a > b
mkdir -p src docs build dir/sub empty tests sub
printf 'one\n' > sub/one
printf 'one\n' > dir/one; printf 'two\n' > dir/two; printf 'three\n' > dir/sub/three
printf '# Title\n\nSome *text*.\n' | tee README.md > docs/guide.md
printf '<html><body><p>text</p></body></html>\n' | tee page.html > docs/page.html
printf 'name,size\na,1\nb,2\n' > data.csv
printf '{"name": "demo", "items": [1, 2, 3], "a": {"b": "c"}}\n' > data.json
printf '<root><item id="1">text</item></root>\n' > data.xml
printf 'name: demo\nitems: [1, 2, 3]\na: {b: c}\n' | tee config.yaml > config.yml
printf 'name = "demo"\nitems = [1, 2, 3]\n' > data.toml
printf '{"name":"demo","version":"1.0.0","main":"index.js","scripts":{"test":"node index.js"}}\n' > package.json
printf 'console.log(1 + 1);\n' > index.js

printf '#include "util.h"\nint main(void) { return twice(0); }\n' | tee main.c > src/main.c
printf '#include "util.h"\nint twice(int n) { return 2 * n; }\n' | tee util.c > src/util.c
printf 'int twice(int n);\n' | tee util.h > src/util.h
printf 'all: prog\nprog: main.c util.c\n\tcc -o prog main.c util.c\nclean:\n\trm -f prog\n' > Makefile
printf 'cmake_minimum_required(VERSION 3.10)\nproject(demo C)\nadd_executable(demo main.c util.c)\n' > CMakeLists.txt
if has cc; then
    cc -g -c util.c -o prog.o && cc -g -o prog main.c util.c && ar rc libutil.a prog.o
fi

printf '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
printf 'version = 3\n\n[[package]]\nname = "demo"\nversion = "0.1.0"\n' > Cargo.lock
printf 'fn main() {\n    println!("hello");\n}\n' | tee main.rs > src/main.rs
printf 'pub fn twice(n: u32) -> u32 {\n    2 * n\n}\n' > src/lib.rs
printf 'module example.com/demo\n\ngo 1.19\n' > go.mod
printf 'package main\n\nfunc main() {\n\tprintln("hello")\n}\n' > main.go
printf 'print("hello")\n' | tee main.py app.py > src/app.py
printf 'def test_one():\n    assert True\n' | tee test_main.py > tests/test_main.py
printf '[project]\nname = "demo"\nversion = "0.1.0"\n' > pyproject.toml
printf 'from setuptools import setup\nsetup(name="demo", version="0.1.0")\n' > setup.py
printf 'requests==2.31.0\n' > requirements.txt
printf '#!/bin/sh\necho hello\n' > script.sh && chmod 755 script.sh
printf 'print "hello\\n";\n' > script.pl
printf 'puts "hello"\n' > script.rb

tar cf a.tar a.txt dir && tar czf a.tar.gz a.txt dir && cp a.tar.gz a.tgz
gzip -c a.txt > a.gz && cp a.gz a.txt.gz
if has xz; then xz -c a.txt > a.xz && tar cJf a.tar.xz a.txt dir; fi
if has bzip2; then bzip2 -c a.txt > a.bz2 && tar cjf a.tar.bz2 a.txt dir; fi
if has zstd; then zstd -q -c a.txt > a.zst; fi
if has zip; then zip -q -r a.zip a.txt dir; fi
if has sqlite3; then sqlite3 db.sqlite 'create table t (a, b); insert into t values (1, 2)'; fi
if has openssl; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 36500 -subj /CN=demo 2> /dev/null
fi
if has ssh-keygen; then ssh-keygen -q -t ed25519 -N '' -C demo -f key && rm -f key; fi
base64 a.txt > a.b64
sed 's/three/four/' a.txt | diff -u --label a/a.txt --label b/a.txt a.txt - > a.patch || true
sha256sum a.txt b.txt > sums.sha256
md5sum a.txt b.txt > sums.md5
ln -s a.txt link

git init -q -b main . && git config gc.auto 0 && git config maintenance.auto false
printf 'build/\n*.o\n' > .gitignore
git add a.txt b.txt README.md .gitignore && git commit -qm 'First'
git add src docs Makefile main.c util.c util.h && git commit -qm 'Second'
git tag -a -m 'one' v1.0
git checkout -q -b topic && printf 'more\n' >> b.txt && git commit -qam 'On topic'
git checkout -q main && git add . && git commit -qm 'The rest'
git clone -q --bare . "$1/../origin.git" && git remote add origin ../origin.git
git fetch -q origin && git branch -q -u origin/main main
printf 'stashed\n' >> notes.txt && git stash push -q
printf 'changed\n' >> words.txt
