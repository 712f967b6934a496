-- What rdmawire found, as fields: of the comments that `rdmawire annotate` and its live analysis write.
-- Installed by `rdmawire wireshark install`. `rdmawire annotate --help` and the library's module `annotate` describe the comments.

local found = Proto("rdmawire", "What rdmawire found")

local text, number = ProtoField.string, ProtoField.uint32
local fields = {
    class = text("rdmawire.class", "Class"),
    conn = number("rdmawire.conn", "Connection"),
    flow = number("rdmawire.flow", "Flow"),
    qp = number("rdmawire.qp", "Queue pair", base.HEX),
    peer = number("rdmawire.peer", "Queue pair of the sender", base.HEX),
    begins = ProtoField.bool("rdmawire.begins", "First packet of its flow"),
    previous = ProtoField.framenum("rdmawire.previous", "Sent before in", base.NONE, frametype.RETRANS_PREV),
    asked = ProtoField.framenum("rdmawire.asked", "Asked for by", base.NONE, frametype.REQUEST),
    trigger = text("rdmawire.trigger", "Why it was retransmitted"),
    loss = text("rdmawire.loss", "Where the packet was lost that it repeats"),
    needless = text("rdmawire.needless", "Needless"),
    gap = number("rdmawire.gap", "PSNs missing before it"),
    overtaken = ProtoField.bool("rdmawire.overtaken", "Overtaken by a packet sent later"),
    late_ns = ProtoField.uint64("rdmawire.late_ns", "Late by, in nanoseconds"),
    nak = text("rdmawire.nak", "NAK"),
    icrc = text("rdmawire.icrc", "ICRC"),
    text = text("rdmawire.text", "In words"),
}
found.fields = fields

-- How the value of a word is read; all others are text.
local flags = { begins = true, overtaken = true }
local numbers = { conn = true, flow = true, qp = true, peer = true, previous = true, asked = true, gap = true }

local comment = Field.new("frame.comment")
local destination_qp = Field.new("infiniband.bth.destqp")

-- Flows by source, destination and queue pair: each a list, since queue pair numbers are used again.
local flows = {}

function found.init()
    flows = {}
end

local function key(pinfo)
    local qp = destination_qp()
    return qp and tostring(pinfo.src) .. "|" .. tostring(pinfo.dst) .. "|" .. tostring(qp.value)
end

-- A comment tells the numbers of a flow. Frames without a comment get them too.
local function learn(pinfo, words)
    local of = key(pinfo)
    if pinfo.visited or not of or not words.flow then return end
    local list = flows[of] or {}
    flows[of] = list
    local last = list[#list]
    if last and last.flow == words.flow then
        last.conn = words.conn or last.conn
    else
        list[#list + 1] = { from = pinfo.number, flow = words.flow, conn = words.conn }
    end
end

local function look_up(pinfo)
    local list = flows[key(pinfo) or ""] or {}
    for at = #list, 1, -1 do
        if list[at].from <= pinfo.number then return list[at] end
    end
end

local function value_of(name, word)
    if flags[name] then return word == "1" end
    if numbers[name] then return tonumber(word) end
    if name == "late_ns" then return UInt64.new(tonumber(word)) end
    return word
end

local order = { "class", "conn", "flow", "qp", "peer", "begins", "previous", "asked", "trigger", "loss", "needless", "gap",
    "overtaken", "late_ns", "nak", "icrc" }

function found.dissector(buffer, pinfo, tree)
    local words, sentence
    for _, each in ipairs({ comment() }) do
        local for_programs, for_people = tostring(each.value):match("^%[rdmawire ([^%]]*)%] (.*)")
        if for_programs then
            words, sentence = {}, for_people
            for name, word in for_programs:gmatch("(%S+)=(%S+)") do
                if fields[name] and name ~= "text" then words[name] = value_of(name, word) end
            end
        end
    end
    if words then
        learn(pinfo, words)
    else
        local flow = look_up(pinfo)
        if not flow then return end
        words = { flow = flow.flow, conn = flow.conn }
    end
    local item = tree:add(found, buffer(0, 0))
    item:set_text("rdmawire: " .. (sentence or "nothing to say of this packet"))
    item:set_generated()
    for _, name in ipairs(order) do
        if words[name] ~= nil then item:add(fields[name], words[name]):set_generated() end
    end
    if sentence then item:add(fields.text, sentence):set_generated() end
end

register_postdissector(found)

if gui_enabled() then
    local function follow(connection)
        set_filter("rdmawire.conn == " .. tostring(connection))
        apply_filter()
    end
    -- Wireshark 4.2 and later: the menu of a packet.
    if register_packet_menu then
        register_packet_menu("rdmawire/Follow connection", function(...)
            for _, field in ipairs({ ... }) do
                if field.name == "rdmawire.conn" then return follow(field.value) end
            end
        end, "rdmawire.conn")
    end
    register_menu("rdmawire/Follow a connection", function()
        new_dialog("Follow a connection", follow, "Its number")
    end, MENU_TOOLS_UNSORTED)
end
