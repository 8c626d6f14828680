//! What a node does in one step. Scripts are sent as they are: a server compiles each once.
//!
//! Keys of rows as they were are made here, in the slot of the keys that are given.

use redis::Cmd;

/// What a row's key was from a generation on: `o` and the generation go behind the braces.
const OLD: &str = r"
local function old(key, since)
  local at = string.find(key, '}:', 1, true)
  local n = 0
  for i = 1, 8 do n = n * 256 + string.byte(since, i) end
  return string.sub(key, 1, at + 1) .. 'o' .. string.format('%.0f', n) .. ':' .. string.sub(key, at + 2)
end
local nothing = string.rep('\255', 8)
local function twice(before)
  return before .. string.gsub(before, '.', function(byte) return string.char(255 - string.byte(byte)) end)
end
";

/// Before a change: raises the bucket's mark to the writer's token, and takes back what a writer left that died.
///
/// KEYS: mark, changes of the next generation. ARGV: token, the next generation.
const BEGIN: &str = r"
local mark = tonumber(redis.call('GET', KEYS[1]) or '0')
if mark > tonumber(ARGV[1]) then return redis.error_reply('FENCED by a later writer') end
redis.call('SET', KEYS[1], ARGV[1])
local left = redis.call('SMEMBERS', KEYS[2])
for _, key in ipairs(left) do
  local header = redis.call('GETRANGE', key, 0, 15)
  if string.sub(header, 1, 8) == ARGV[2] then
    local before = string.sub(header, 9, 16)
    if before == nothing then redis.call('DEL', key) else redis.call('RENAME', old(key, before), key) end
  end
end
redis.call('DEL', KEYS[2])
return #left
";

/// Writes rows, and keeps what they were. Done again, it changes nothing.
///
/// KEYS: mark, changes, rows. ARGV: token, generation, then of each row what follows the generation before (`becr_store::row`).
const PUT: &str = r"
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED by a later writer') end
for i = 3, #KEYS do
  local key = KEYS[i]
  local header = redis.call('GETRANGE', key, 0, 15)
  local before = nothing
  if string.sub(header, 1, 8) == ARGV[2] then
    before = string.sub(header, 9, 16)
  elseif #header == 16 then
    before = string.sub(header, 1, 8)
    redis.call('RENAME', key, old(key, before))
  end
  redis.call('SET', key, ARGV[2] .. twice(before) .. ARGV[i])
  redis.call('SADD', KEYS[2], key)
end
return #KEYS - 2
";

/// Counts the rows of a bucket that a generation has written and that are there.
///
/// KEYS: changes. ARGV: generation.
const RECOUNT: &str = r"
local there = 0
for _, key in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  if redis.call('GETRANGE', key, 0, 7) == ARGV[1] then there = there + 1 end
end
return there
";

/// Removes what a generation replaced: nobody looks at the one before any more.
///
/// KEYS: mark, changes. ARGV: token, generation.
const FORGET: &str = r"
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED by a later writer') end
for _, key in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local at = key
  local header = redis.call('GETRANGE', at, 0, 24)
  if string.sub(header, 1, 8) ~= ARGV[2] then
    at = old(key, ARGV[2])
    header = redis.call('GETRANGE', at, 0, 24)
  end
  if #header == 25 then
    local before = string.sub(header, 9, 16)
    if before ~= nothing then redis.call('DEL', old(key, before)) end
    if at == key and string.byte(header, 25) == 0 then redis.call('DEL', key) end
  end
end
redis.call('DEL', KEYS[2])
return 1
";

/// Takes the lease, or keeps it. KEYS: lease. ARGV: token, milliseconds.
const LEASE: &str = r"
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
";

/// Gives the lease back. KEYS: lease. ARGV: token.
const RELEASE: &str = r"
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
";

/// Publishes, if the lease is still the writer's. KEYS: lease, meta. ARGV: token, the new value.
const PUBLISH: &str = r"
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED by a later writer') end
redis.call('SET', KEYS[2], ARGV[2])
return 1
";

fn eval(script: &str, keys: &[Vec<u8>]) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(script).arg(keys.len()).arg(keys);
    command
}

fn eval_with_old(script: &str, keys: &[Vec<u8>]) -> Cmd {
    eval(&format!("{OLD}{script}"), keys)
}

pub(crate) fn begin(mark: Vec<u8>, changes: Vec<u8>, token: u64, generation: u64) -> Cmd {
    let mut command = eval_with_old(BEGIN, &[mark, changes]);
    command.arg(token).arg(&generation.to_be_bytes());
    command
}

pub(crate) fn put(keys: &[Vec<u8>], token: u64, generation: u64, values: &[Vec<u8>]) -> Cmd {
    let mut command = eval_with_old(PUT, keys);
    command
        .arg(token)
        .arg(&generation.to_be_bytes())
        .arg(values);
    command
}

pub(crate) fn recount(changes: Vec<u8>, generation: u64) -> Cmd {
    let mut command = eval(RECOUNT, &[changes]);
    command.arg(&generation.to_be_bytes());
    command
}

pub(crate) fn forget(mark: Vec<u8>, changes: Vec<u8>, token: u64, generation: u64) -> Cmd {
    let mut command = eval_with_old(FORGET, &[mark, changes]);
    command.arg(token).arg(&generation.to_be_bytes());
    command
}

pub(crate) fn lease(key: Vec<u8>, token: u64, milliseconds: u64) -> Cmd {
    let mut command = eval(LEASE, &[key]);
    command.arg(token).arg(milliseconds);
    command
}

pub(crate) fn release(key: Vec<u8>, token: u64) -> Cmd {
    let mut command = eval(RELEASE, &[key]);
    command.arg(token);
    command
}

pub(crate) fn publish(lease: Vec<u8>, meta: Vec<u8>, token: u64, value: &[u8]) -> Cmd {
    let mut command = eval(PUBLISH, &[lease, meta]);
    command.arg(token).arg(value);
    command
}
