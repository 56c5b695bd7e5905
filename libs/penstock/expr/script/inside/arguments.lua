-- How arguments become Lua values: one MessagePack text after the other, read inside Lua because handing values over
-- one by one costs more. What was packed on its own (as bytes) becomes an empty table with a mark, and is filled when
-- a script first touches it. Scripts cannot tell: the first touch takes the mark away, and before a script gets hold
-- of a function that looks past marks, `fill_all` has left none.
local byte, sub, unpack, spread = string.byte, string.sub, string.unpack, table.unpack
local next, type, error, pcall, rawset, set_mark = next, type, error, pcall, rawset, setmetatable

local NO_JSON = "an argument that is not JSON"
local array_mark = {__name = "array", __metatable = false}
local unread_mark = {}
local unread = {}
local read

local function array(items)
  return set_mark(items or {}, array_mark)
end

local function read_object(object, count, text, at)
  for _ = 1, count do
    local name
    name, at = read(text, at)
    if type(name) ~= "string" then error(NO_JSON, 0) end
    object[name], at = read(text, at)
  end
  return object, at
end

local function read_list(list, count, text, at)
  if count == 0 then return array(list), at end
  for index = 1, count do list[index], at = read(text, at) end
  return list, at
end

local function scalar(format)
  return function(text, at) return unpack(format, text, at) end
end

local function constant(value)
  return function(_, at) return value, at end
end

local function container(format, read_members)
  return function(text, at, into)
    local count
    count, at = unpack(format, text, at)
    return read_members(into or {}, count, text, at)
  end
end

local function bytes(format)
  return function(text, at)
    local value = set_mark({}, unread_mark)
    unread[value], at = unpack(format, text, at)
    return value, at
  end
end

local readers = {
  [0xc0] = constant(nil), [0xc2] = constant(false), [0xc3] = constant(true),
  [0xc4] = bytes(">s1"), [0xc5] = bytes(">s2"), [0xc6] = bytes(">s4"),
  [0xcb] = function(text, at)
    local number
    number, at = unpack(">d", text, at)
    if number - number ~= 0 then number = nil end  -- JSON has neither NaN nor infinity, but null
    return number, at
  end,
  [0xcc] = scalar(">I1"), [0xcd] = scalar(">I2"), [0xce] = scalar(">I4"),
  [0xcf] = function(text, at)
    local number
    number, at = unpack(">I8", text, at)
    if number < 0 then error("an argument has an integer beyond 64 bits", 0) end
    return number, at
  end,
  [0xd0] = scalar(">i1"), [0xd1] = scalar(">i2"), [0xd2] = scalar(">i4"), [0xd3] = scalar(">i8"),
  [0xd9] = scalar(">s1"), [0xda] = scalar(">s2"), [0xdb] = scalar(">s4"),
  [0xdc] = container(">I2", read_list), [0xdd] = container(">I4", read_list),
  [0xde] = container(">I2", read_object), [0xdf] = container(">I4", read_object),
}

function read(text, at, into)
  local head = byte(text, at)
  at = at + 1
  if head < 0x80 then return head, at
  elseif head < 0x90 then return read_object(into or {}, head - 0x80, text, at)
  elseif head < 0xa0 then return read_list(into or {}, head - 0x90, text, at)
  elseif head < 0xc0 then
    local after = at + head - 0xa0
    return sub(text, at, after - 1), after
  elseif head >= 0xe0 then return head - 0x100, at
  end
  local reader = readers[head]
  if not reader then error(NO_JSON, 0) end
  return reader(text, at, into)
end

-- All of it or, for want of memory or stack, nothing: then the next touch tries again.
local function fill(value)
  set_mark(value, nil)
  local ok, problem = pcall(read, unread[value], 1, value)
  if not ok then
    for key in next, value do value[key] = nil end
    set_mark(value, unread_mark)
    error(problem, 0)
  end
  unread[value] = nil
end

function unread_mark.__index(value, key)
  fill(value)
  return value[key]
end

function unread_mark.__newindex(value, key, item)
  fill(value)
  local ok, problem = pcall(rawset, value, key, item)
  if not ok then error(problem, 2) end
end

function unread_mark.__len(value)
  fill(value)
  return #value
end

local function fill_all()
  for value in next, unread do fill(value) end
end

local function arguments(text)
  unread = {}
  local values, count, at = {}, 0, 1
  while at <= #text do
    count = count + 1
    values[count], at = read(text, at)
  end
  return spread(values, 1, count)
end

return arguments, fill, fill_all, array, array_mark, unread_mark
